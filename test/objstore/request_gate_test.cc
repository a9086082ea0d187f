#include "mounter/objstore/request_gate.h"

#include <vector>

#include "gtest/gtest.h"
#include "mounter/objstore/service_error.h"
#include "mounter/objstore/transfer_failure.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

class Listener final : public CongestionObserver {
 public:
  void OnCongestion(Congestion kind) override { heard.push_back(kind); }
  std::vector<Congestion> heard;
};

absl::Status Refusal(int http_status, const std::string& code, Dialect dialect = Dialect::kOss) {
  ServiceError error;
  error.http_status = http_status;
  error.code = code;
  return StatusOfServiceError(error, dialect, "c");
}

class RequestGateTest : public ::testing::Test {
 protected:
  testing::VirtualTime time_;
  StoreMetrics metrics_;
  RequestGate gate_{0, time_, metrics_};
  const std::shared_ptr<Listener> listener_ = std::make_shared<Listener>();
};

TEST_F(RequestGateTest, TellsWhatRefusalsSayOfTheLoad) {
  using enum Congestion;
  gate_.Observe(listener_);
  gate_.OnAnswer(Refusal(503, "TotalQpsLimitExceeded"));
  gate_.OnAnswer(Refusal(503, "SlowDown", Dialect::kS3));
  gate_.OnAnswer(Refusal(503, "DownloadTrafficRateLimitExceeded"));
  gate_.OnAnswer(Refusal(503, "UploadTrafficRateLimitExceeded"));
  gate_.OnAnswer(Refusal(503, "ActiveRequestLimitExceeded"));
  gate_.OnAnswer(Refusal(503, "ServiceUnavailable"));
  gate_.OnAnswer(Refusal(500, "InternalError"));
  gate_.OnAnswer(StatusOfFailure({.kind = TransferFailure::kBroken, .url = "http://h/"}));
  gate_.OnHeldBack();
  EXPECT_EQ(listener_->heard,
            (std::vector<Congestion>{kRequestRate, kRequestRate, kBandwidth, kBandwidth, kActiveRequests,
                                     kServerTrouble, kServerTrouble, kServerTrouble, kHeldBack}));
  EXPECT_EQ(metrics_.throttled, 5u);
  EXPECT_EQ(metrics_.congestion[static_cast<int>(kBandwidth)], 2u);
}

TEST_F(RequestGateTest, FinalAnswersSayNothing) {
  gate_.Observe(listener_);
  gate_.OnAnswer(absl::OkStatus());
  gate_.OnAnswer(absl::CancelledError("c"));
  gate_.OnAnswer(Refusal(404, "NoSuchKey"));
  gate_.OnAnswer(Refusal(403, "AccessDenied"));
  EXPECT_TRUE(listener_->heard.empty());
  EXPECT_EQ(metrics_.throttled, 0u);
}

TEST_F(RequestGateTest, AnObserverCanBeTakenAway) {
  gate_.Observe(listener_);
  gate_.Observe(nullptr);
  gate_.OnHeldBack();
  EXPECT_TRUE(listener_->heard.empty());
  EXPECT_EQ(listener_.use_count(), 1);
}

TEST_F(RequestGateTest, WhatIsNotWorthWaitingForIsLetOutOnlyWhenItsTurnHasCome) {
  RequestGate slow(10, time_, metrics_);
  EXPECT_TRUE(slow.TryAdmit());
  EXPECT_TRUE(slow.TryAdmit());  // A tenth of a second's worth may go at once.
  EXPECT_FALSE(slow.TryAdmit());
  EXPECT_FALSE(slow.TryAdmit());
  time_.Advance(absl::Milliseconds(100));
  EXPECT_TRUE(slow.TryAdmit());
  EXPECT_EQ(slow.Admit(), absl::Milliseconds(100));
  for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(gate_.TryAdmit());
}

}  // namespace
}  // namespace bucketvol
