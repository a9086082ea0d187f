// Under any mixture of slow answers, stalls, failures, changes of purpose and cancellations the sink sees the
// bytes of the range once, in order, and one end.

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "mounter/objstore/hedged_store.h"
#include "mounter/objstore/retrying_store.h"
#include "mounter/objstore/store_error.h"
#include "test/objstore/hand_store.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using testing::HandStore;

// Checks what it is given against the range as it comes.
class CheckingSink final : public GetSink {
 public:
  explicit CheckingSink(ByteRange range) : at_(range.begin), range_(range) {}

  void OnVersion(absl::string_view etag) override {
    EXPECT_EQ(etag, "E");
    version_ = true;
  }
  void OnData(absl::Span<const char> data) override {
    EXPECT_EQ(ends, 0);
    EXPECT_TRUE(version_);
    ASSERT_LE(at_ + data.size(), range_.end);
    for (const char byte : data) ASSERT_EQ(byte, HandStore::Byte(at_++));
  }
  void OnDone(absl::Status status) override {
    ++ends;
    EXPECT_EQ(status.ok(), at_ == range_.end) << status << " at " << at_;
    EXPECT_TRUE(status.ok() || absl::IsCancelled(status) || absl::IsNotFound(status)) << status;
  }

  int ends = 0;

 private:
  bool version_ = false;
  uint64_t at_;
  const ByteRange range_;
};

class HedgedStorePropertyTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  struct Reading {
    explicit Reading(ByteRange r) : range(r), sink(r) {}
    const ByteRange range;
    CheckingSink sink;
    const std::shared_ptr<Cancellation> cancellation = std::make_shared<Cancellation>();
    const std::shared_ptr<SharedPurpose> purpose = std::make_shared<SharedPurpose>(GetPurpose::kDemand);
  };

  uint64_t Below(uint64_t bound) { return random_() % bound; }

  void StartOne() {
    const uint64_t begin = Below(1'000);
    readings_.push_back(std::make_unique<Reading>(ByteRange{begin, begin + 1 + Below(3'000)}));
    Reading& reading = *readings_.back();
    if (Below(3) == 0) reading.purpose->Set(GetPurpose::kPrefetch);
    GetRequest request;
    request.key = "k";
    request.range = reading.range;
    request.if_match = "E";
    request.cancellation = reading.cancellation;
    request.purpose = reading.purpose;
    store_.Get(std::move(request), &reading.sink);
  }

  // Does something to one of the GETs that the store has under way.
  void ActOnOne() {
    const size_t i = first_live_ + Below(inner_.count() - first_live_);
    switch (Below(16)) {
      case 0:
        return inner_.End(i, absl::UnavailableError("reset"));
      case 1:
        return inner_.Finish(i);
      case 2:
        if (Below(20) == 0) return inner_.End(i, absl::NotFoundError("gone"));
        return;
      case 3:
        return Give(i, 3'000);
      default:
        return Give(i, 1 + Below(300));
    }
  }
  void Give(size_t i, uint64_t bytes) {
    inner_.Give(i, bytes);
    if (inner_.whole(i)) inner_.End(i, absl::OkStatus());
  }

  void Step() {
    while (first_live_ < inner_.count() && inner_.ended(first_live_)) ++first_live_;
    const uint64_t what = Below(100);
    if (what < 5 || first_live_ == inner_.count()) return StartOne();
    if (what < 80) return ActOnOne();
    if (what < 82) return time_.Advance(absl::Milliseconds(static_cast<int64_t>(Below(400))));
    if (what == 82 && Below(10) == 0) return time_.Advance(absl::Seconds(2));
    Reading& reading = *readings_[readings_.size() - 1 - Below(std::min<size_t>(readings_.size(), 8))];
    if (what < 86) return reading.purpose->Set(Below(2) == 0 ? GetPurpose::kDemand : GetPurpose::kPrefetch);
    if (what == 86) return reading.cancellation->Cancel();
    time_.Advance(absl::Milliseconds(static_cast<int64_t>(Below(10))));
  }

  // Lets everything come to its end.
  void Settle() {
    for (int round = 0; round < 10'000 && Ends() < readings_.size(); ++round) {
      for (size_t i = first_live_; i < inner_.count(); ++i) inner_.Finish(i);
      while (first_live_ < inner_.count() && inner_.ended(first_live_)) ++first_live_;
      time_.Advance(absl::Milliseconds(50));
    }
  }
  size_t Ends() const {
    size_t ends = 0;
    for (const auto& reading : readings_) ends += static_cast<size_t>(reading->sink.ends);
    return ends;
  }

  std::mt19937_64 random_{GetParam()};
  testing::VirtualTime time_{testing::VirtualTime::Order::kRandom, GetParam()};
  HandStore inner_{time_};
  StoreMetrics metrics_;
  RequestGate gate_{0, time_, metrics_};
  RetrySettings retry_{.max_attempts = 1'000'000, .budget = absl::InfiniteDuration()};
  std::vector<std::unique_ptr<Reading>> readings_;
  size_t first_live_ = 0;
  HedgedStore hedged_{inner_,  {.budget = 0.5, .outage_share = 0.9, .least_samples = 5}, gate_, time_, time_,
                      metrics_};
  RetryingStore store_{hedged_, retry_, time_, time_, [] { return 0.5; }, metrics_};
};

TEST_P(HedgedStorePropertyTest, EveryByteOnceInOrder) {
  for (int i = 0; i < 30'000 && !HasFailure(); ++i) Step();
  Settle();
  for (const auto& reading : readings_) ASSERT_EQ(reading->sink.ends, 1);
  // It was worth testing.
  size_t seconds = 0;
  for (size_t i = 0; i < inner_.count(); ++i) seconds += inner_.request(i).second;
  EXPECT_GT(seconds, 100u);
  EXPECT_GT(metrics_.hedges_won, 30u);
  EXPECT_GT(metrics_.bytes_discarded, 1'000u);
  EXPECT_GT(metrics_.stalled, 10u);
  EXPECT_GT(metrics_.retries, 100u);
  store_.Close();
  hedged_.Close();
  time_.RunUntilIdle();
}

INSTANTIATE_TEST_SUITE_P(Seeds, HedgedStorePropertyTest, ::testing::Values(1, 2, 3, 4, 5, 6));

}  // namespace
}  // namespace bucketvol
