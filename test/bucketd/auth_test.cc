// Signatures as the whole service sees them: what is accepted, what is refused, and with which document.
#include <time.h>

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/bucketd/digest.h"
#include "test/bucketd/key_formula.h"
#include "test/bucketd/running_service.h"
#include "test/bucketd/signed_client.h"
#include "test/bucketd/text.h"
#include "test/bucketd/xml.h"
#include "test/support/temp_dir.h"

namespace bucketvol::bucketd {
namespace {

using ::testing::HasSubstr;

std::string CodeOf(const HttpAnswer& answer) {
  const std::optional<XmlNode> root = ParseXml(answer.body);
  return absl::StrCat(answer.status, " ", root.has_value() ? root->ChildText("Code") : "");
}

class AuthTest : public ::testing::TestWithParam<SignWith> {
 protected:
  AuthTest() : service_({temp_.path(), {"syn:keys=10,size=100B"}, "access-key=ak\nsecret-key=sk", 1}) {}

  TestSigner Signer() const {
    TestSigner signer;
    signer.scheme = GetParam();
    return signer;
  }
  bool s3() const { return GetParam() == SignWith::kS3; }
  HttpAnswer List(const TestSigner& signer, HeaderList headers = {}) {
    const std::string target = "/syn/?list-type=2&prefix=d%2B&max-keys=5";
    return service_.Get(target, signer.Headers("GET", "syn", "", target, std::move(headers)));
  }
  std::string Key() { return KeyFormula(*ParseSyntheticSpec("syn:keys=10,size=100B")).At(3); }

  bucketvol::testing::TempDir temp_;
  RunningService service_;
};

INSTANTIATE_TEST_SUITE_P(Schemes, AuthTest,
                         ::testing::Values(SignWith::kOssV1, SignWith::kOssV4, SignWith::kS3),
                         [](const auto& test) {
                           if (test.param == SignWith::kS3) return "S3";
                           return test.param == SignWith::kOssV1 ? "OssV1" : "OssV4";
                         });

TEST_P(AuthTest, AcceptsAGoodSignature) { EXPECT_EQ(List(Signer()).status, 200); }

TEST_P(AuthTest, RefusesAWrongSecret) {
  TestSigner signer = Signer();
  signer.secret = "wrong";
  const HttpAnswer answer = List(signer);
  EXPECT_EQ(CodeOf(answer), "403 SignatureDoesNotMatch");
  EXPECT_THAT(answer.body, HasSubstr("<StringToSign>"));
  EXPECT_THAT(service_.Get("/-/stats").body, HasSubstr("\"auth_failures\":1"));
}

TEST_P(AuthTest, RefusesAnUnknownKey) {
  TestSigner signer = Signer();
  signer.access_key = "nobody";
  EXPECT_EQ(CodeOf(List(signer)), "403 InvalidAccessKeyId");
}

TEST_P(AuthTest, RefusesAClockOffByMoreThanAQuarterHour) {
  for (const int64_t offset : {-901 - 5, 901 + 5}) {
    TestSigner signer = Signer();
    signer.now = time(nullptr) + offset;
    EXPECT_EQ(CodeOf(List(signer)), "403 RequestTimeTooSkewed");
  }
  TestSigner signer = Signer();
  signer.now = time(nullptr) - 850;
  EXPECT_EQ(List(signer).status, 200);
}

TEST_P(AuthTest, ServerClockCanBeWrong) {
  service_.Config("clock-offset=20m");
  const HttpAnswer answer = List(Signer());
  EXPECT_EQ(CodeOf(answer), "403 RequestTimeTooSkewed");
  int64_t date = 0;
  ASSERT_TRUE(ParseHttpTime(answer.Header("date"), date));
  TestSigner corrected = Signer();
  corrected.now = date;
  EXPECT_EQ(List(corrected).status, 200);
}

TEST_P(AuthTest, AsksForTheSessionToken) {
  service_.Config("session-token=tok");
  TestSigner signer = Signer();
  EXPECT_EQ(CodeOf(List(signer)), "403 InvalidAccessKeyId");
  signer.token = "tok";
  EXPECT_EQ(List(signer).status, 200);
  signer.token = "old";
  EXPECT_EQ(CodeOf(List(signer)), s3() ? "400 InvalidToken" : "403 InvalidSecurityToken");
}

TEST_P(AuthTest, RefusesAHeaderOfItsOwnThatIsNotSigned) {
  const std::string target = "/syn/" + Key();
  HeaderList headers = Signer().Headers("GET", "syn", Key(), target);
  headers.emplace_back(s3() ? "x-amz-meta-extra" : "x-oss-meta-extra", "1");
  EXPECT_EQ(service_.Get(target, headers).status, 403);
}

TEST_P(AuthTest, PresignedWorksUntilItExpires) {
  const std::string path = "/syn/" + Key();
  const HttpAnswer answer = service_.Get(Signer().Presign("GET", "syn", Key(), path, 60));
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body.size(), 100u);
  TestSigner early = Signer();
  early.now = time(nullptr) - 100;
  EXPECT_EQ(CodeOf(service_.Get(early.Presign("GET", "syn", Key(), path, 60))), "403 AccessDenied");
  TestSigner wrong = Signer();
  wrong.secret = "wrong";
  EXPECT_EQ(CodeOf(service_.Get(wrong.Presign("GET", "syn", Key(), path, 60))), "403 SignatureDoesNotMatch");
}

TEST_P(AuthTest, SignsKeysThatNeedEncoding) {
  ASSERT_EQ(
      service_.Do("PUT", "/new-bucket", Signer().Headers("PUT", "new-bucket", "", "/new-bucket")).status,
      200);
  const std::string key = "a b+c/\xc3\xa9%?#&='";
  const std::string target = "/new-bucket/" + PercentEncode(key, "/");
  EXPECT_EQ(service_.Do("PUT", target, Signer().Headers("PUT", "new-bucket", key, target), "x").status, 200);
  EXPECT_EQ(service_.Get(target, Signer().Headers("GET", "new-bucket", key, target)).body, "x");
}

TEST_P(AuthTest, VirtualHostedStyleIsSignedWithTheBucket) {
  const HeaderList host = {{"Host", "syn.store.example.com:9000"}};
  EXPECT_EQ(service_.Get("/" + Key(), Signer().Headers("GET", "syn", Key(), "/" + Key(), host)).status, 200);
}

TEST_P(AuthTest, HeadErrorsHaveNoBody) {
  TestSigner signer = Signer();
  const std::string target = "/syn/none";
  const HttpAnswer answer = service_.Do("HEAD", target, signer.Headers("HEAD", "syn", "none", target));
  EXPECT_EQ(answer.status, 404);
  std::string document;
  if (s3()) {
    EXPECT_EQ(answer.Header("x-oss-err"), "");
  } else {
    ASSERT_TRUE(absl::Base64Unescape(answer.Header("x-oss-err"), &document));
    EXPECT_THAT(document, HasSubstr("<Code>NoSuchKey</Code>"));
    EXPECT_EQ(answer.Header("x-oss-ec"), "0026-00000001");
  }
}

class AuthRulesTest : public ::testing::Test {
 protected:
  AuthRulesTest()
      : service_({temp_.path(), {"syn:keys=10"}, "access-key=ak\nsecret-key=sk\nregion=cn-hangzhou", 1}) {
    EXPECT_TRUE(service_.service().buckets().Create("bucket").ok());
  }
  TestSigner S3() {
    TestSigner signer;
    signer.scheme = SignWith::kS3;
    return signer;
  }
  HttpAnswer PutS3(const std::string& payload_hash, const std::string& body, const HeaderList& more = {}) {
    TestSigner signer = S3();
    signer.payload_hash = payload_hash;
    return service_.Do("PUT", "/bucket/k", signer.Headers("PUT", "bucket", "k", "/bucket/k", more), body);
  }
  bucketvol::testing::TempDir temp_;
  RunningService service_;
};

TEST_F(AuthRulesTest, NoSignatureIsDeniedInTheDialectOfTheRequest) {
  const HttpAnswer s3 = service_.Get("/syn/?list-type=2");
  EXPECT_EQ(CodeOf(s3), "403 AccessDenied");
  EXPECT_NE(s3.Header("x-amz-request-id"), "");
  const HttpAnswer oss = service_.Get("/syn/?list-type=2", {{"x-oss-date", "x"}});
  EXPECT_EQ(CodeOf(oss), "403 AccessDenied");
  EXPECT_EQ(oss.Header("x-oss-request-id").size(), 24u);
  EXPECT_EQ(ParseXml(oss.body)->ChildText("RequestId"), oss.Header("x-oss-request-id"));
}

TEST_F(AuthRulesTest, GarbageAuthorizationIsRefused) {
  for (const char* value :
       {"Basic eDp5", "OSS", "OSS ak", "OSS4-HMAC-SHA256 Credential=ak", "AWS4-HMAC-SHA256 x"}) {
    EXPECT_EQ(service_.Get("/syn/", {{"Authorization", value}, {"Date", HttpTime(time(nullptr))}}).status,
              400)
        << value;
  }
}

TEST_F(AuthRulesTest, AnotherRegionIsRefused) {
  TestSigner signer = S3();
  signer.region = "mars-1";
  const HttpAnswer answer = service_.Get("/syn/", signer.Headers("GET", "syn", "", "/syn/"));
  EXPECT_EQ(CodeOf(answer), "400 AuthorizationHeaderMalformed");
  EXPECT_EQ(ParseXml(answer.body)->ChildText("Region"), "cn-hangzhou");
}

TEST_F(AuthRulesTest, PayloadHashIsCompared) {
  EXPECT_EQ(PutS3(HexLower(DigestOf(DigestKind::kSha256, "body")), "body").status, 200);
  EXPECT_EQ(CodeOf(PutS3(HexLower(DigestOf(DigestKind::kSha256, "other")), "body")),
            "400 XAmzContentSHA256Mismatch");
  EXPECT_EQ(PutS3("UNSIGNED-PAYLOAD", "body").status, 200);
}

TEST_F(AuthRulesTest, HostMustBeSigned) {
  HeaderList headers = S3().Headers("GET", "syn", "", "/syn/");
  std::string& authorization = headers.back().second;
  authorization.replace(authorization.find("host;"), 5, "");
  EXPECT_EQ(CodeOf(service_.Get("/syn/", headers)), "403 AccessDenied");
}

TEST_F(AuthRulesTest, StreamingTrailerIsDecodedAndCompared) {
  const std::string body =
      "4\r\nbody\r\n0\r\nx-amz-checksum-sha256:" + absl::Base64Escape(DigestOf(DigestKind::kSha256, "body")) +
      "\r\n\r\n";
  const HeaderList headers = {{"x-amz-decoded-content-length", "4"},
                              {"x-amz-trailer", "x-amz-checksum-sha256"},
                              {"Content-Encoding", "aws-chunked"}};
  EXPECT_EQ(PutS3("STREAMING-UNSIGNED-PAYLOAD-TRAILER", body, headers).status, 200);
  const HttpAnswer read = service_.Get("/bucket/k", S3().Headers("GET", "bucket", "k", "/bucket/k"));
  EXPECT_EQ(read.body, "body");
  EXPECT_EQ(read.Header("content-encoding"), "");
  std::string other = body;
  other.replace(3, 4, "Body");
  EXPECT_EQ(CodeOf(PutS3("STREAMING-UNSIGNED-PAYLOAD-TRAILER", other, headers)), "400 BadDigest");
}

// ali-oss with an IP endpoint and `sldEnable`.
TEST_F(AuthRulesTest, BucketInHostAndPathIsReadAsItWasSigned) {
  TestSigner signer;
  signer.scheme = SignWith::kOssV1;
  const HeaderList host = {{"Host", "bucket.oss-cn-hangzhou.aliyuncs.com"}};
  ASSERT_EQ(
      service_.Do("PUT", "/bucket/k", signer.Headers("PUT", "bucket", "k", "/bucket/k", host), "1").status,
      200);
  EXPECT_EQ(service_.Get("/k", signer.Headers("GET", "bucket", "k", "/k", host)).body, "1");
}

}  // namespace
}  // namespace bucketvol::bucketd
