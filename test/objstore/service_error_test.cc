#include "mounter/objstore/service_error.h"

#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "mounter/base/file.h"
#include "mounter/objstore/store_error.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;

ServiceError Read(absl::string_view body) {
  ServiceError error;
  error.http_status = 403;
  ReadErrorBody(body, error);
  return error;
}

TEST(ServiceErrorTest, ReadsADocument) {
  const ServiceError error = Read(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>\n  <Code>AccessDenied</Code>\n  <Message>a &amp; "
      "b</Message>\n"
      "  "
      "<RequestId>R</RequestId><HostId>h</HostId><Endpoint>oss-cn-beijing.aliyuncs.com</Endpoint><Region>r</"
      "Region>"
      "<Details><Code>inner</Code></Details></Error>");
  EXPECT_EQ(error.code, "AccessDenied");
  EXPECT_EQ(error.message, "a & b");
  EXPECT_EQ(error.request_id, "R");
  EXPECT_EQ(error.endpoint, "oss-cn-beijing.aliyuncs.com");
  EXPECT_EQ(error.region, "r");
  EXPECT_FALSE(error.html);
}

TEST(ServiceErrorTest, TakesWhatACutDocumentTells) {
  EXPECT_EQ(Read("<Error><Code>SlowDown</Code><Mess").code, "SlowDown");
}

TEST(ServiceErrorTest, KnowsWebPages) {
  EXPECT_TRUE(Read("\n <!DOCTYPE html><html>").html);
  EXPECT_TRUE(Read("<HTML><body>x").html);
  EXPECT_FALSE(Read("busy").html);
  EXPECT_EQ(Read("busy").code, "");
}

TEST(ServiceErrorTest, UnknownCodesGoByStatus) {
  const auto status = [](int http_status, Dialect dialect = Dialect::kOss) {
    return StatusOfServiceError({.http_status = http_status, .code = "NeverHeard"}, dialect, "c");
  };
  EXPECT_THAT(status(401), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("(NeverHeard, HTTP 401)")));
  EXPECT_EQ(status(403).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(status(404).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status(412).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status(416).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status(400).code(), absl::StatusCode::kInvalidArgument);
  for (const int final : {400, 401, 403, 404, 409, 412, 416, 418, 501})
    EXPECT_FALSE(IsRetryable(status(final))) << final;
  for (const int passing : {408, 429, 500, 502, 503, 504, 599})
    EXPECT_TRUE(IsRetryable(status(passing))) << passing;
  EXPECT_TRUE(StoreErrorOf(status(429))->throttled);
  EXPECT_FALSE(StoreErrorOf(status(503))->throttled);
  EXPECT_TRUE(StoreErrorOf(status(503, Dialect::kS3))->throttled);
}

TEST(ServiceErrorTest, OnlyRefusedCredentialsAskForNewOnes) {
  EXPECT_TRUE(IsRefusalOfCredentials({.http_status = 403, .code = "InvalidAccessKeyId"}));
  EXPECT_TRUE(IsRefusalOfCredentials({.http_status = 400, .code = "ExpiredToken"}));
  EXPECT_TRUE(IsRefusalOfCredentials({.http_status = 401}));
  EXPECT_FALSE(IsRefusalOfCredentials({.http_status = 403, .code = "SignatureDoesNotMatch"}));
  EXPECT_FALSE(IsRefusalOfCredentials({.http_status = 403, .code = "AccessDenied"}));
  EXPECT_FALSE(IsRefusalOfCredentials({.http_status = 403}));
}

TEST(ServiceErrorTest, MessagesNameTheRightPlace) {
  ServiceError error = {.http_status = 301, .code = "PermanentRedirect", .message = "Use the endpoint."};
  error.region = "eu-west-1";
  error.endpoint = "s3.eu-west-1.amazonaws.com";
  EXPECT_THAT(StatusOfServiceError(error, Dialect::kS3, "cannot list s3://b"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "cannot list s3://b: Use the endpoint; check url= and region=; the bucket is in "
                       "region eu-west-1: set "
                       "region=eu-west-1 and reached at s3.eu-west-1.amazonaws.com: set url= "
                       "(PermanentRedirect, HTTP 301)"));
}

// The page users read and the table the code goes by.
TEST(ServiceErrorTest, TheDocumentationShowsEveryCode) {
  const char* const source = std::getenv("BUCKETVOL_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "BUCKETVOL_SOURCE is not set";
  ASSERT_OK_AND_ASSIGN(const std::string page,
                       ReadWholeFile(absl::StrCat(source, "/docs/errors.md"), 1 << 20));
  for (const ErrorRule& rule : ErrorRules()) {
    EXPECT_THAT(page, HasSubstr(absl::StrCat("`", std::string(rule.code), "`")));
  }
}

}  // namespace
}  // namespace bucketvol
