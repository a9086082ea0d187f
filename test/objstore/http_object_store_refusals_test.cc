#include "test/objstore/http_object_store_fixture.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using testing::ErrorBody;
using ::testing::HasSubstr;
using testing::HttpObjectStoreTest;
using testing::kPage;
using ::testing::StartsWith;
using testing::StatusIs;

TEST_F(HttpObjectStoreTest, TriesNewerCredentialsOnce) {
  credentials_.next = Credentials{"ak2", Secret("other"), Secret("token2")};
  StartHead();
  transport().Answer(
      {.status = 403,
       .headers = {absl::StrCat("x-oss-err: ", absl::Base64Escape(ErrorBody("InvalidAccessKeyId")))}});
  EXPECT_FALSE(info_.has_value());
  ASSERT_EQ(transport().waiting(), 1u);
  EXPECT_THAT(transport().Header("authorization"), HasSubstr("Credential=ak2/"));
  EXPECT_EQ(transport().Header("x-oss-security-token"), "token2");
  transport().Answer(
      {.status = 403,
       .headers = {absl::StrCat("x-oss-err: ", absl::Base64Escape(ErrorBody("InvalidAccessKeyId")))}});
  EXPECT_THAT(*info_, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("check the access key id")));
  EXPECT_EQ(credentials_.rejections, 1);
}

TEST_F(HttpObjectStoreTest, DoesNotRepeatWithTheSameCredentials) {
  StartList();
  transport().Answer({.status = 400, .body = {ErrorBody("ExpiredToken")}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("temporary credentials")));
  EXPECT_EQ(credentials_.rejections, 1);
}

TEST_F(HttpObjectStoreTest, AWrongSignatureIsNoReasonToReload) {
  StartList();
  transport().Answer({.status = 403, .body = {ErrorBody("SignatureDoesNotMatch")}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("access key secret")));
  EXPECT_EQ(credentials_.rejections, 0);
}

TEST_F(HttpObjectStoreTest, FollowsTheClockOfTheService) {
  StartList();
  EXPECT_EQ(transport().Header("x-oss-date"), "20231216T162057Z");
  clock_.Advance(absl::Seconds(1));
  transport().Answer({.status = 403,
                      .headers = {"Date: Sat, 16 Dec 2023 18:20:58 GMT"},
                      .body = {ErrorBody("RequestTimeTooSkewed")}});
  ASSERT_EQ(transport().waiting(), 1u);
  EXPECT_EQ(transport().Header("x-oss-date"), "20231216T182058Z");
  transport().Answer({.body = {kPage}});
  EXPECT_OK(*page_);
  StartList();  // The offset stays.
  EXPECT_EQ(transport().Header("x-oss-date"), "20231216T182058Z");
  transport().Answer({.status = 403,
                      .headers = {"Date: Sat, 16 Dec 2023 18:20:58 GMT"},
                      .body = {ErrorBody("RequestTimeTooSkewed")}});
  transport().Answer({.status = 403,
                      .headers = {"Date: Sat, 16 Dec 2023 18:20:58 GMT"},
                      .body = {ErrorBody("RequestTimeTooSkewed")}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("set this machine's clock")));
}

TEST_F(HttpObjectStoreTest, SignsForTheRegionThatS3Names) {
  UseS3();
  StartList();
  transport().Answer(
      {.status = 400, .body = {ErrorBody("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>")}});
  ASSERT_EQ(transport().waiting(), 1u);
  EXPECT_THAT(transport().Header("authorization"), HasSubstr("/eu-west-1/s3/aws4_request"));
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.s3.us-east-1.amazonaws.com/"));
}

TEST_F(HttpObjectStoreTest, FollowsAPermanentRedirectForGood) {
  UseS3();
  StartList();
  transport().Answer(
      {.status = 301,
       .headers = {"x-amz-bucket-region: eu-west-1"},
       .body = {ErrorBody("PermanentRedirect", "<Endpoint>bucket.s3-eu-west-1.amazonaws.com</Endpoint>")}});
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.s3-eu-west-1.amazonaws.com/?"));
  EXPECT_THAT(transport().Header("authorization"), HasSubstr("/eu-west-1/s3/aws4_request"));
  transport().Answer({.body = {kPage}});
  EXPECT_OK(*page_);
  StartHead();
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.s3-eu-west-1.amazonaws.com/"));
}

TEST_F(HttpObjectStoreTest, AHeadIsRedirectedByTheRegionAlone) {
  UseS3();
  StartHead();
  transport().Answer({.status = 301, .headers = {"x-amz-bucket-region: eu-west-1"}});
  EXPECT_EQ(transport().request().url, "https://bucket.s3.eu-west-1.amazonaws.com/k");
}

TEST_F(HttpObjectStoreTest, ATemporaryRedirectHoldsForOneRequest) {
  UseS3();
  StartList();
  transport().Answer(
      {.status = 307,
       .body = {ErrorBody("TemporaryRedirect", "<Endpoint>bucket.s3-eu-west-1.amazonaws.com</Endpoint>")}});
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.s3-eu-west-1.amazonaws.com/"));
  transport().Answer({.body = {kPage}});
  StartList();
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.s3.us-east-1.amazonaws.com/"));
}

TEST_F(HttpObjectStoreTest, FollowsTheEndpointThatOssNames) {
  StartList();
  transport().Answer(
      {.status = 403,
       .body = {ErrorBody("AccessDenied", "<Endpoint>oss-cn-beijing.aliyuncs.com</Endpoint>")}});
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.oss-cn-beijing.aliyuncs.com/"));
  EXPECT_THAT(transport().Header("authorization"), HasSubstr("/cn-beijing/oss/aliyun_v4_request"));
}

TEST_F(HttpObjectStoreTest, RedirectionsInARingEndWithTheRightWords) {
  UseS3();
  settings_.endpoint.host = "storage.example.com";
  StartList();
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(page_.has_value());
    const char* region = i % 2 == 0 ? "eu-west-1" : "eu-west-2";
    transport().Answer({.status = 301, .headers = {absl::StrCat("x-amz-bucket-region: ", region)}});
  }
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("in region eu-west-1: set region=eu-west-1")));
}

}  // namespace
}  // namespace bucketvol
