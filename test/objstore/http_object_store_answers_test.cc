#include "test/objstore/http_object_store_fixture.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/objstore/store_error.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using testing::ErrorBody;
using testing::FakeAnswer;
using ::testing::HasSubstr;
using testing::HttpObjectStoreTest;
using testing::kPage;
using testing::Part;
using ::testing::StartsWith;
using testing::StatusIs;

// --- Wrong answers to GET: never a byte to the sink ---

TEST_F(HttpObjectStoreTest, RefusesPartsThatAreNotWhatWasAsked) {
  const auto refused = [&](const FakeAnswer& answer, absl::StatusCode code, absl::string_view why) {
    StartGet(10, 20);
    transport().Answer(answer);
    EXPECT_THAT(sink_->status(), StatusIs(code, HasSubstr(std::string(why))));
    EXPECT_EQ(sink_->data(), "") << why;
    EXPECT_EQ(sink_->ends(), 1);
    EXPECT_EQ(IsRetryable(sink_->status()), code == absl::StatusCode::kDataLoss);
  };
  const std::vector<std::string> ten = {"0123456789"};
  refused({.status = 200, .headers = {"Content-Length: 1000"}, .body = {"x"}}, absl::StatusCode::kDataLoss,
          "whole object");
  refused({.status = 204}, absl::StatusCode::kDataLoss, "unexpected status");
  refused({.status = 206, .body = ten}, absl::StatusCode::kDataLoss, "no valid Content-Range");
  refused(Part("0-9/1000", ten), absl::StatusCode::kDataLoss, "another range");
  refused(Part("10-18/1000", {"012345678"}), absl::StatusCode::kDataLoss, "another range");
  refused(Part("10-19/1000", {"0123"}), absl::StatusCode::kDataLoss, "another length");
  refused(Part("10-19/999", ten), absl::StatusCode::kDataLoss, "another size of the object: 999");
  refused(Part("10-19/1000", ten, "\"F\""), absl::StatusCode::kFailedPrecondition, "another ETag");
  refused({.status = 412, .body = {ErrorBody("PreconditionFailed")}}, absl::StatusCode::kFailedPrecondition,
          "changed");
  refused({.status = 416, .body = {ErrorBody("InvalidRange")}}, absl::StatusCode::kFailedPrecondition,
          "size changed");
  refused({.status = 404, .body = {ErrorBody("NoSuchKey")}}, absl::StatusCode::kNotFound,
          "NoSuchKey, HTTP 404");
}

TEST_F(HttpObjectStoreTest, WithoutAVersionAnotherSizeIsAChange) {
  StartGet(10, 20, "", std::nullopt);
  transport().Answer(Part("10-14/15", {"01234"}));
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("15 bytes now")));
  StartGet(10, 20, "", 1000);
  transport().Answer(Part("10-19/999", {"0123456789"}));
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("999 bytes now")));
  StartGet(0, 10, "", 1000);
  transport().Answer({.status = 200, .headers = {"Content-Length: 10"}, .body = {"0123456789"}});
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("10 bytes now")));
}

TEST_F(HttpObjectStoreTest, ABodyOfWrongLengthIsAnError) {
  StartGet(10, 20);
  transport().Answer(
      {.status = 206, .headers = {"Content-Range: bytes 10-19/1000"}, .body = {"01234", "567"}});
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("shorter")));
  StartGet(10, 20);
  transport().Answer(
      {.status = 206, .headers = {"Content-Range: bytes 10-19/1000"}, .body = {"01234", "567890"}});
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("longer")));
  EXPECT_EQ(sink_->data(), "01234");
}

TEST_F(HttpObjectStoreTest, TheEndOfTheTransferCounts) {
  StartGet(10, 20);
  FakeAnswer answer = Part("10-19/1000", {"0123456789"});
  answer.end = absl::UnavailableError("reset");
  transport().Answer(answer);
  EXPECT_THAT(sink_->status(),
              StatusIs(absl::StatusCode::kUnavailable, "cannot read oss://bucket/dir/a b: reset"));
}

// --- Wrong answers to LIST and HEAD ---

TEST_F(HttpObjectStoreTest, AWebPageIsNoListing) {
  StartList();
  transport().Answer(
      {.headers = {"Content-Type: text/html"}, .body = {"<!DOCTYPE HTML><html>Welcome</html>"}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HTML page, is url= right?")));
  EXPECT_FALSE(IsRetryable(page_->status()));
  StartList();
  transport().Answer({.status = 403, .body = {"<html>Forbidden</html>"}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("HTML page")));
  StartList();
  transport().Answer({.status = 502, .body = {"<html>Bad gateway</html>"}});
  EXPECT_TRUE(IsRetryable(page_->status()));
}

TEST_F(HttpObjectStoreTest, ACutListingIsRetryable) {
  StartList();
  transport().Answer({.body = {std::string(kPage).substr(0, 80)}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kDataLoss, StartsWith("cannot list oss://bucket: ")));
  EXPECT_TRUE(IsRetryable(page_->status()));
}

TEST_F(HttpObjectStoreTest, AnEndlessListingIsRefused) {
  StartList();
  FakeAnswer answer;
  answer.body.assign(33, std::string(512 * 1024, ' '));
  transport().Answer(answer);
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("larger than any page")));
  StartList();
  transport().Answer({.headers = {"Content-Length: 99999999999"}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("larger than any page")));
}

TEST_F(HttpObjectStoreTest, ReadsTheErrorOfAHeadFromItsHeader) {
  StartHead();
  transport().Answer({.status = 404,
                      .headers = {absl::StrCat("x-oss-err: ", absl::Base64Escape(ErrorBody("NoSuchKey"))),
                                  "x-oss-request-id: R0"}});
  EXPECT_THAT(*info_,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("(NoSuchKey, HTTP 404, request id R1)")));
}

TEST_F(HttpObjectStoreTest, ErrorsCarryTheServicesWords) {
  StartList();
  transport().Answer({.status = 503, .body = {ErrorBody("SlowDown")}});
  const std::optional<StoreError> error = StoreErrorOf(page_->status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, "SlowDown");
  EXPECT_EQ(error->request_id, "R1");
  EXPECT_TRUE(error->throttled);
  EXPECT_TRUE(error->retryable);
  EXPECT_THAT(*page_,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the words (SlowDown, HTTP 503")));
}

}  // namespace
}  // namespace bucketvol
