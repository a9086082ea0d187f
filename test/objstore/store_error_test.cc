#include "mounter/objstore/store_error.h"

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "mounter/base/status_macros.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

const StoreError kDenied = {.http_status = 403,
                            .code = "AccessDenied",
                            .message = "no permission to list",
                            .request_id = "5C3D9175B6FC201293AD4890"};

TEST(StoreErrorTest, MessageNamesCodeStatusAndRequestId) {
  const absl::Status status =
      MakeStoreStatus(absl::StatusCode::kPermissionDenied, "cannot list oss://b/p", kDenied);
  EXPECT_EQ(status.message(),
            "cannot list oss://b/p: no permission to list (AccessDenied, HTTP 403, request id "
            "5C3D9175B6FC201293AD4890)");
}

TEST(StoreErrorTest, MessageLeavesOutWhatIsNotKnown) {
  const absl::Status status = MakeStoreStatus(absl::StatusCode::kUnavailable, "cannot read oss://b/k",
                                              {.message = "connection reset"});
  EXPECT_EQ(status.message(), "cannot read oss://b/k: connection reset");
}

TEST(StoreErrorTest, HostileWordsCannotForgeALine) {
  const absl::Status status = MakeStoreStatus(absl::StatusCode::kInternal, "cannot list oss://b",
                                              {.code = "A\nB", .message = "x\ny"});
  EXPECT_EQ(status.message(), "cannot list oss://b: x\\x0ay (A\\x0aB)");
}

TEST(StoreErrorTest, TravelsThroughAnnotation) {
  StoreError error = kDenied;
  error.retryable = true;
  const absl::Status status = Annotate(
      MakeStoreStatus(absl::StatusCode::kPermissionDenied, "cannot list oss://b", error), "mount failed");
  const std::optional<StoreError> found = StoreErrorOf(status);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->http_status, 403);
  EXPECT_EQ(found->code, "AccessDenied");
  EXPECT_EQ(found->message, "no permission to list");
  EXPECT_EQ(found->request_id, "5C3D9175B6FC201293AD4890");
  EXPECT_TRUE(found->retryable);
  EXPECT_FALSE(found->throttled);
  EXPECT_EQ(found->congestion, Congestion::kNone);
  error.congestion = Congestion::kActiveRequests;
  EXPECT_EQ(StoreErrorOf(MakeStoreStatus(absl::StatusCode::kUnavailable, "c", error)), error);
}

TEST(StoreErrorTest, OtherStatusesCarryNone) {
  EXPECT_EQ(StoreErrorOf(absl::OkStatus()), std::nullopt);
  EXPECT_EQ(StoreErrorOf(absl::NotFoundError("x")), std::nullopt);
  absl::Status broken = absl::NotFoundError("x");
  broken.SetPayload("bucketvol.StoreError", absl::Cord("\xff"));
  EXPECT_EQ(StoreErrorOf(broken), std::nullopt);
}

TEST(StoreErrorTest, ThePayloadDecidesOnRetries) {
  EXPECT_TRUE(IsRetryable(MakeStoreStatus(absl::StatusCode::kInternal, "c", {.retryable = true})));
  EXPECT_FALSE(IsRetryable(MakeStoreStatus(absl::StatusCode::kUnavailable, "c", {.retryable = false})));
  EXPECT_TRUE(IsRetryable(absl::UnavailableError("x")));
  EXPECT_TRUE(IsRetryable(absl::DataLossError("x")));
  EXPECT_FALSE(IsRetryable(absl::OkStatus()));
  EXPECT_FALSE(IsRetryable(absl::CancelledError("x")));
  EXPECT_FALSE(IsRetryable(absl::FailedPreconditionError("x")));
}

}  // namespace
}  // namespace bucketvol
