#include "test/bucketd/signature.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/bucketd/digest.h"
#include "test/bucketd/text.h"

// The cases named V4-n and V1-n are test cases of the OSS Go SDK v2, S3-n are the examples AWS publishes; L-n
// were computed with an independent implementation.
namespace bucketvol::bucketd {
namespace {

std::string Sha256Hex(absl::string_view text) { return HexLower(DigestOf(DigestKind::kSha256, text)); }

struct OssV4Case {
  std::string method = "PUT";
  std::string key = "1234+-/123/1.txt";
  std::string time = "20231216T162057Z";
  std::string region = "cn-hangzhou";
  std::string product = "oss";
  std::vector<QueryParam> params = {{"param1", "value1"}, {"+param1", "value3"}, {"|param1", "value4"},
                                    {"+param2", ""},      {"|param2", ""},       {"param2", ""}};
  std::vector<HttpHeader> headers = {{"x-oss-head1", "value"},
                                     {"abc", "value"},
                                     {"ZAbc", "value"},
                                     {"XYZ", "value"},
                                     {"content-type", "text/plain"},
                                     {"x-oss-content-sha256", "UNSIGNED-PAYLOAD"}};
  std::vector<std::string> additional = {};

  std::string Canonical() const {
    std::vector<HttpHeader> sent = headers;
    sent.push_back({"x-oss-date", time});
    const SigningInput input = {method, "/ignored", "bucket", key, &params, &sent};
    return OssV4CanonicalRequest(input, additional, "UNSIGNED-PAYLOAD");
  }
  Scope TheScope() const { return {time.substr(0, 8), region, product, "aliyun_v4_request"}; }
  std::string Key() const { return SigningKey("aliyun_v4", "sk", TheScope()); }
  std::string Signature() const {
    return V4Signature(Key(), V4StringToSign("OSS4-HMAC-SHA256", time, TheScope(), Canonical()));
  }
};

TEST(OssV4Test, V4_1) {
  const OssV4Case test;
  EXPECT_EQ(test.Canonical(),
            "PUT\n/bucket/1234%2B-/123/1.txt\n"
            "%2Bparam1=value3&%2Bparam2&%7Cparam1=value4&%7Cparam2&param1=value1&param2\n"
            "content-type:text/plain\nx-oss-content-sha256:UNSIGNED-PAYLOAD\nx-oss-date:20231216T162057Z\n"
            "x-oss-head1:value\n\n\nUNSIGNED-PAYLOAD");
  EXPECT_EQ(Sha256Hex(test.Canonical()), "f4613657f1b108998e8dbd10a1aa5da621dc2c6e02c9ddec0f163664848704c4");
  EXPECT_EQ(HexLower(test.Key()), "b412a03b134ebddd720f5167b5de6db66620ebb3b01cff4d49e3ccb09f8de97f");
  EXPECT_EQ(test.Signature(), "e21d18daa82167720f9b1047ae7e7f1ce7cb77a31e8203a7d5f4624fa0284afe");
}

TEST(OssV4Test, V4_2_SessionToken) {
  OssV4Case test;
  test.time = "20231217T034736Z";
  test.headers.push_back({"x-oss-security-token", "token"});
  EXPECT_EQ(Sha256Hex(test.Canonical()), "69494678fb11579d4ee12996e2796d9e2ba43c34aa4c723c4aec018f3d6b86b8");
  EXPECT_EQ(HexLower(test.Key()), "0e11d77e422d3484e84ee6b628fdf2a85f3788e1a597f23116b477efb407e94e");
  EXPECT_EQ(test.Signature(), "b94a3f999cf85bcdc00d332fbd3734ba03e48382c36fa4d5af5df817395bd9ea");
}

TEST(OssV4Test, V4_3_AdditionalHeaders) {
  OssV4Case test;
  test.time = "20231216T172512Z";
  test.additional = {"zabc", "abc"};
  EXPECT_EQ(Sha256Hex(test.Canonical()), "16b86004ed2cc3406dd7a13081bd940ef6a5ad49e508da2d4fdf84e8a5dd2145");
  EXPECT_EQ(test.Signature(), "4a4183c187c07c8947db7620deb0a6b38d9fbdd34187b6dbaccb316fa251212f");
}

TEST(OssV4Test, V4_4_CloudBox) {
  OssV4Case test;
  test.region = "cb-123";
  test.product = "oss-cloudbox";
  EXPECT_EQ(HexLower(test.Key()), "2050b37df4494279f29cb1af160b9123e6a3208413bac32e41fe003432e6a34d");
  EXPECT_EQ(test.Signature(), "94ce1f12c17d148ea681030275a94449d3357f5b5b21133996eec80af3e08a43");
}

TEST(OssV4Test, L_1_List) {
  OssV4Case test;
  test.method = "GET";
  test.key = "";
  test.headers = {{"x-oss-content-sha256", "UNSIGNED-PAYLOAD"}};
  test.params = {{"list-type", "2"},
                 {"prefix", "a b/\xc3\xa9"},
                 {"max-keys", "1000"},
                 {"encoding-type", "url"},
                 {"delimiter", "/"}};
  EXPECT_EQ(Sha256Hex(test.Canonical()), "f314bea39ce3e853ae1dfad798d79bb65154d42bbe14b1d9d60a675d7fa6a8d2");
  EXPECT_EQ(test.Signature(), "c49e4ad945c8383e903c64d5602910fbdde4a4e2debb53b0e9d55bc441a968f3");
}

TEST(OssV4Test, L_2_RangedGet) {
  OssV4Case test;
  test.method = "GET";
  test.key = "data/file 1.bin";
  test.params = {};
  test.headers = {{"x-oss-content-sha256", "UNSIGNED-PAYLOAD"}, {"x-oss-range-behavior", "standard"}};
  EXPECT_EQ(Sha256Hex(test.Canonical()), "5fbc4930ddb4f5941f1b7ebaea1f774675d7dbbec3e2aae128c88417622d3af4");
  EXPECT_EQ(test.Signature(), "b03a760073e72b69a4d300045cb6e0639a1b9399ebc47243f9c4ec9390cd6fb0");
}

constexpr char kDate[] = "Wed, 28 Dec 2022 10:27:41 GMT";

std::string V1(absl::string_view method, absl::string_view bucket, absl::string_view key,
               const std::vector<QueryParam>& params, const std::vector<HttpHeader>& headers,
               absl::string_view date) {
  const SigningInput input = {method, "/ignored", bucket, key, &params, &headers};
  return OssV1Signature("sk", OssV1StringToSign(input, date));
}

const std::vector<HttpHeader>& PutHeaders() {
  static const std::vector<HttpHeader> headers = {{"Content-MD5", "eB5eJF1ptWaXm4bijSPyxw=="},
                                                  {"Content-Type", "text/html"},
                                                  {"x-oss-meta-magic", "abracadabra"},
                                                  {"X-Oss-Meta-Author", "alice"},
                                                  {"x-oss-date", kDate}};
  return headers;
}

TEST(OssV1Test, V1_1_StringToSign) {
  const std::vector<QueryParam> none;
  const SigningInput input = {"PUT", "/ignored", "examplebucket", "nelson", &none, &PutHeaders()};
  EXPECT_EQ(OssV1StringToSign(input, kDate),
            std::string("PUT\neB5eJF1ptWaXm4bijSPyxw==\ntext/html\n") + kDate + "\nx-oss-date:" + kDate +
                "\nx-oss-meta-author:alice\nx-oss-meta-magic:abracadabra\n/examplebucket/nelson");
}

TEST(OssV1Test, HeaderVectors) {
  const std::vector<HttpHeader> dated = {{"x-oss-date", kDate}};
  EXPECT_EQ(V1("PUT", "examplebucket", "nelson", {}, PutHeaders(), kDate),
            "kSHKmLxlyEAKtZPkJhG9bZb5k7M=");  // V1-1
  EXPECT_EQ(V1("PUT", "examplebucket", "nelson", {{"acl", ""}}, PutHeaders(), kDate),
            "/afkugFbmWDQ967j1vr6zygBLQk=");
  EXPECT_EQ(V1("GET", "examplebucket", "", {{"resourceGroup", ""}, {"non-resource", "123"}}, dated, kDate),
            "vkQmfuUDyi1uDi3bKt67oemssIs=");  // V1-3
  EXPECT_EQ(V1("GET", "examplebucket", "", {{"resourceGroup", ""}, {"acl", ""}}, dated, kDate),
            "x3E5TgOvl/i7PN618s5mEvpJDYk=");  // V1-4
}

TEST(OssV1Test, PresignedVectors) {
  EXPECT_EQ(V1("GET", "bucket", "key", {{"versionId", "versionId"}}, {}, "1699807420"),
            "dcLTea+Yh9ApirQ8o8dOPqtvJXQ=");
  EXPECT_EQ(V1("GET", "bucket", "key+123", {{"security-token", "token"}, {"versionId", "versionId"}}, {},
               "1699808204"),
            "jzKYRrM5y6Br0dRFPaTGOsbrDhY=");
}

TEST(OssV1Test, L_3_SignsContinuationTokenButNoOtherListParameter) {
  EXPECT_EQ(V1("GET", "examplebucket", "",
               {{"list-type", "2"},
                {"prefix", "p"},
                {"continuation-token", "ChR=="},
                {"max-keys", "5"},
                {"start-after", "x"}},
               {}, kDate),
            "scuceyJ4kAa/pOakh/lrL2PNUPQ=");
}

TEST(OssV1Test, L_4_RangedGet) {
  const std::vector<HttpHeader> headers = {{"x-oss-range-behavior", "standard"}, {"range", "bytes=0-9"}};
  EXPECT_EQ(V1("GET", "examplebucket", "data/file 1.bin", {}, headers, kDate),
            "E50l7RF/MQeURBMFkv9yHPV85rw=");
}

constexpr char kEmptyHash[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kS3Time[] = "20130524T000000Z";

struct S3Case {
  std::string method = "GET";
  std::string path = "/";
  std::vector<QueryParam> params = {};
  std::vector<HttpHeader> headers = {};
  std::vector<std::string> signed_headers = {"host", "x-amz-content-sha256", "x-amz-date"};
  std::string payload_hash = kEmptyHash;

  std::string Canonical() const {
    std::vector<HttpHeader> sent = headers;
    sent.push_back({"Host", "examplebucket.s3.amazonaws.com"});
    sent.push_back({"x-amz-content-sha256", payload_hash});
    sent.push_back({"X-Amz-Date", kS3Time});
    const SigningInput input = {method, path, "examplebucket", "", &params, &sent};
    return S3CanonicalRequest(input, signed_headers, payload_hash);
  }
  std::string Signature() const {
    const Scope scope = {"20130524", "us-east-1", "s3", "aws4_request"};
    return V4Signature(SigningKey("AWS4", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", scope),
                       V4StringToSign("AWS4-HMAC-SHA256", kS3Time, scope, Canonical()));
  }
};

TEST(S3SignatureTest, S3_1_RangedGet) {
  S3Case test;
  test.path = "/test.txt";
  test.headers = {{"Range", "bytes=0-9"}};
  test.signed_headers = {"host", "range", "x-amz-content-sha256", "x-amz-date"};
  EXPECT_EQ(Sha256Hex(test.Canonical()), "7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972");
  EXPECT_EQ(test.Signature(), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(S3SignatureTest, S3_2_List) {
  S3Case test;
  test.params = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_EQ(Sha256Hex(test.Canonical()), "df57d21db20da04d7fa30298dd4488ba3a2b47ca3a489c74750e0f1e7df1b9b7");
  EXPECT_EQ(test.Signature(), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(S3SignatureTest, S3_3_EmptyQueryValue) {
  S3Case test;
  test.params = {{"lifecycle", ""}};
  EXPECT_EQ(test.Signature(), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(S3SignatureTest, S3_4_PutWithDate) {
  S3Case test;
  test.method = "PUT";
  test.path = "/test%24file.text";
  test.payload_hash = "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072";
  EXPECT_EQ(Sha256Hex("Welcome to Amazon S3."), test.payload_hash);
  test.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  test.signed_headers = {"date", "host", "x-amz-content-sha256", "x-amz-date", "x-amz-storage-class"};
  EXPECT_EQ(test.Signature(), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

}  // namespace
}  // namespace bucketvol::bucketd
