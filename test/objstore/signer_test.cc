// Vectors: V4-*, V1-* are test cases of the OSS Go SDK v2, S3-* are AWS's published examples of signature
// version 4, L-* were computed with an independent implementation.

#include "mounter/objstore/signer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/objstore/oss_v1_signature.h"
#include "mounter/objstore/signing_text.h"

namespace bucketvol {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

Credentials OssKeys(std::string token = "") {
  return {
      .access_key_id = "ak", .access_key_secret = Secret("sk"), .session_token = Secret(std::move(token))};
}

SignableRequest Request(absl::string_view method, std::string bucket, std::string key) {
  SignableRequest request;
  request.method = method;
  request.bucket = std::move(bucket);
  request.key = std::move(key);
  return request;
}

std::string Authorization(const SignableRequest& request) {
  return std::string(HeaderValue(request.headers, "authorization"));
}

// --- OSS version 4 ---

SignableRequest SdkV4Request() {
  SignableRequest request = Request("PUT", "bucket", "1234+-/123/1.txt");
  request.headers = {{"x-oss-head1", "value"},
                     {"abc", "value"},
                     {"zabc", "value"},
                     {"xyz", "value"},
                     {"content-type", "text/plain"}};
  request.query = {{"param1", "value1"}, {"+param1", "value3"}, {"|param1", "value4"},
                   {"+param2", ""},      {"|param2", ""},       {"param2", ""}};
  return request;
}

std::string SignedV4(SignableRequest request, int64_t time, const Credentials& credentials,
                     const SigningScope& scope = {"cn-hangzhou", "oss"}) {
  SigningKeyCache keys;
  SignOssV4(request, credentials, scope, absl::FromUnixSeconds(time), keys);
  return Authorization(request);
}

TEST(SignOssV4Test, SdkVector1) {
  EXPECT_EQ(SignedV4(SdkV4Request(), 1702743657, OssKeys()),
            "OSS4-HMAC-SHA256 Credential=ak/20231216/cn-hangzhou/oss/aliyun_v4_request,"
            "Signature=e21d18daa82167720f9b1047ae7e7f1ce7cb77a31e8203a7d5f4624fa0284afe");
}

TEST(SignOssV4Test, SdkVector2SessionToken) {
  EXPECT_THAT(SignedV4(SdkV4Request(), 1702784856, OssKeys("token")),
              EndsWith("Signature=b94a3f999cf85bcdc00d332fbd3734ba03e48382c36fa4d5af5df817395bd9ea"));
}

TEST(SignOssV4Test, SdkVector3AdditionalHeaders) {
  SignableRequest request = SdkV4Request();
  request.additional_headers = {"zabc", "abc", "absent", "content-type"};
  EXPECT_THAT(SignedV4(request, 1702747512, OssKeys()),
              EndsWith(",AdditionalHeaders=abc;zabc,"
                       "Signature=4a4183c187c07c8947db7620deb0a6b38d9fbdd34187b6dbaccb316fa251212f"));
}

TEST(SignOssV4Test, SdkVector4CloudBox) {
  EXPECT_THAT(SignedV4(SdkV4Request(), 1702743657, OssKeys(), {"cb-123", "oss-cloudbox"}),
              EndsWith("/cb-123/oss-cloudbox/aliyun_v4_request,"
                       "Signature=94ce1f12c17d148ea681030275a94449d3357f5b5b21133996eec80af3e08a43"));
}

TEST(SignOssV4Test, VectorL1Listing) {
  SignableRequest request = Request("GET", "bucket", "");
  request.query = {{"list-type", "2"},
                   {"prefix", "a b/\xC3\xA9"},
                   {"max-keys", "1000"},
                   {"encoding-type", "url"},
                   {"delimiter", "/"}};
  EXPECT_THAT(SignedV4(request, 1702743657, OssKeys()),
              EndsWith("Signature=c49e4ad945c8383e903c64d5602910fbdde4a4e2debb53b0e9d55bc441a968f3"));
}

TEST(SignOssV4Test, VectorL2RangedGet) {
  SignableRequest request = Request("GET", "bucket", "data/file 1.bin");
  request.headers = {{"x-oss-range-behavior", "standard"}, {"range", "bytes=0-9"}};
  EXPECT_THAT(SignedV4(request, 1702743657, OssKeys()),
              EndsWith("Signature=b03a760073e72b69a4d300045cb6e0639a1b9399ebc47243f9c4ec9390cd6fb0"));
}

// --- OSS version 1 ---

constexpr char kDate[] = "Wed, 28 Dec 2022 10:27:41 GMT";
const absl::Time kDateTime = absl::FromUnixSeconds(1672223261);

std::string V1(const SignableRequest& request, absl::string_view date = kDate) {
  return OssV1Signature(request, date, Secret("sk"));
}

SignableRequest SdkV1Put() {
  SignableRequest request = Request("PUT", "examplebucket", "nelson");
  request.headers = {{"content-md5", "eB5eJF1ptWaXm4bijSPyxw=="},
                     {"content-type", "text/html"},
                     {"x-oss-meta-magic", "abracadabra"},
                     {"x-oss-meta-author", "alice"},
                     {"x-oss-date", kDate},
                     {"host", "examplebucket.oss-cn-hangzhou.aliyuncs.com"}};
  return request;
}

TEST(SignOssV1Test, SdkVectors1And2Put) {
  SignableRequest request = SdkV1Put();
  EXPECT_EQ(V1(request), "kSHKmLxlyEAKtZPkJhG9bZb5k7M=");
  request.query = {{"acl", ""}};
  EXPECT_EQ(V1(request), "/afkugFbmWDQ967j1vr6zygBLQk=");
}

TEST(SignOssV1Test, SdkVectors3And4SubResources) {
  SignableRequest request = Request("GET", "examplebucket", "");
  request.headers = {{"x-oss-date", kDate}};
  request.query = {{"resourceGroup", ""}, {"non-resousce", "null"}};
  EXPECT_EQ(V1(request), "vkQmfuUDyi1uDi3bKt67oemssIs=");
  request.query = {{"resourceGroup", ""}, {"acl", ""}};
  EXPECT_EQ(V1(request), "x3E5TgOvl/i7PN618s5mEvpJDYk=");
}

TEST(SignOssV1Test, SdkVectors5And6PreSigned) {
  SignableRequest request = Request("GET", "bucket", "key");
  request.query = {{"versionId", "versionId"}};
  EXPECT_EQ(V1(request, "1699807420"), "dcLTea+Yh9ApirQ8o8dOPqtvJXQ=");
  request.key = "key+123";
  request.query.emplace_back("security-token", "token");
  EXPECT_EQ(V1(request, "1699808204"), "jzKYRrM5y6Br0dRFPaTGOsbrDhY=");
}

TEST(SignOssV1Test, VectorL3SecondListPage) {
  SignableRequest request = Request("GET", "examplebucket", "");
  request.query = {
      {"list-type", "2"},       {"prefix", "p"},   {"start-after", "s"}, {"continuation-token", "ChR=="},
      {"encoding-type", "url"}, {"max-keys", "9"}, {"delimiter", "/"},   {"fetch-owner", "true"}};
  SignOssV1(request, OssKeys(), kDateTime);
  EXPECT_EQ(HeaderValue(request.headers, "date"), kDate);
  EXPECT_EQ(Authorization(request), "OSS ak:scuceyJ4kAa/pOakh/lrL2PNUPQ=");
}

TEST(SignOssV1Test, VectorL4RangedGet) {
  SignableRequest request = Request("GET", "examplebucket", "data/file 1.bin");
  request.headers = {{"x-oss-range-behavior", "standard"}, {"range", "bytes=0-9"}};
  SignOssV1(request, OssKeys(), kDateTime);
  EXPECT_EQ(Authorization(request), "OSS ak:E50l7RF/MQeURBMFkv9yHPV85rw=");
}

TEST(SignOssV1Test, SendsAndSignsTheToken) {
  SignableRequest plain = Request("GET", "b", "k"), with_token = plain;
  SignOssV1(plain, OssKeys(), kDateTime);
  SignOssV1(with_token, OssKeys("token"), kDateTime);
  EXPECT_EQ(HeaderValue(with_token.headers, "x-oss-security-token"), "token");
  EXPECT_NE(Authorization(plain), Authorization(with_token));
}

// --- AWS version 4 ---

SignableRequest AwsRequest(absl::string_view method, std::string path) {
  SignableRequest request = Request(method, "examplebucket", path.substr(1));
  request.path = std::move(path);
  request.host = "examplebucket.s3.amazonaws.com";
  return request;
}

Credentials AwsKeys(std::string token = "") {
  return {.access_key_id = "AKIAIOSFODNN7EXAMPLE",
          .access_key_secret = Secret("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
          .session_token = Secret(std::move(token))};
}

std::string SignedAws(SignableRequest request, std::string token = "") {
  SigningKeyCache keys;
  SignAwsV4(request, AwsKeys(std::move(token)), {"us-east-1", "s3"}, absl::FromUnixSeconds(1369353600), keys);
  return Authorization(request);
}

TEST(SignAwsV4Test, VectorS31RangedGet) {
  SignableRequest request = AwsRequest("GET", "/test.txt");
  request.headers = {{"range", "bytes=0-9"}, {"user-agent", "is not signed"}};
  EXPECT_EQ(SignedAws(request),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SignAwsV4Test, VectorS32Listing) {
  SignableRequest request = AwsRequest("GET", "/");
  request.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_THAT(SignedAws(request),
              EndsWith("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(SignAwsV4Test, VectorS33EmptyQueryValue) {
  SignableRequest request = AwsRequest("GET", "/");
  request.query = {{"lifecycle", ""}};
  EXPECT_THAT(SignedAws(request),
              EndsWith("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(SignAwsV4Test, VectorS34Put) {
  SignableRequest request = AwsRequest("PUT", "/test%24file.text");
  request.payload_sha256 = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
  request.headers = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                     {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  EXPECT_THAT(SignedAws(request),
              EndsWith("SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class,"
                       "Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(SignAwsV4Test, SignsTheToken) {
  EXPECT_THAT(SignedAws(AwsRequest("GET", "/k"), "token"),
              HasSubstr("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"));
}

TEST(SignAwsV4Test, InnerRunsOfSpacesCountAsOne) {
  SignableRequest one = AwsRequest("GET", "/k"), many = one;
  one.headers = {{"x-amz-meta-a", "b c"}};
  many.headers = {{"x-amz-meta-a", "  b   c "}};
  EXPECT_EQ(SignedAws(one), SignedAws(many));
  many.headers = {{"x-amz-meta-a", "bc"}};
  EXPECT_NE(SignedAws(one), SignedAws(many));
}

// --- all ---

TEST(SignerTest, AnonymousRequestsStayAsTheyAre) {
  SigningKeyCache keys;
  SignableRequest request = Request("GET", "b", "k");
  SignOssV1(request, {}, kDateTime);
  SignOssV4(request, {}, {"r", "oss"}, kDateTime, keys);
  SignAwsV4(request, {}, {"r", "s3"}, kDateTime, keys);
  EXPECT_TRUE(request.headers.empty());
}

TEST(SigningKeyCacheTest, AnswersLikeAFreshOneWhateverChanges) {
  SigningKeyCache kept;
  const auto same = [&](const char* secret, const char* day, const SigningScope& scope) {
    SigningKeyCache fresh;
    return kept.Get("AWS4", Secret(secret), day, scope, "end") ==
           fresh.Get("AWS4", Secret(secret), day, scope, "end");
  };
  EXPECT_TRUE(same("a", "20231216", {"r1", "s3"}));
  EXPECT_TRUE(same("a", "20231216", {"r1", "s3"}));
  EXPECT_TRUE(same("a", "20231217", {"r1", "s3"}));
  EXPECT_TRUE(same("b", "20231217", {"r1", "s3"}));
  EXPECT_TRUE(same("b", "20231217", {"r2", "s3"}));
  EXPECT_TRUE(same("b", "20231217", {"r2", "oss"}));
}

TEST(SignerTest, TheSecretIsInNoHeader) {
  SigningKeyCache keys;
  SignableRequest request = AwsRequest("GET", "/k");
  SignAwsV4(request, AwsKeys(), {"us-east-1", "s3"}, kDateTime, keys);
  SignOssV4(request, AwsKeys(), {"us-east-1", "oss"}, kDateTime, keys);
  SignOssV1(request, AwsKeys(), kDateTime);
  for (const HttpHeader& header : request.headers) {
    EXPECT_THAT(header.value, Not(HasSubstr(AwsKeys().access_key_secret.Reveal()))) << header.name;
  }
}

}  // namespace
}  // namespace bucketvol
