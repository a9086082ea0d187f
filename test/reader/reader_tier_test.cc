#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/reader/reader.h"
#include "test/reader/manual_store.h"
#include "test/reader/read_outcome.h"
#include "test/support/fake_clock.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using testing::ContentOf;
using ::testing::ElementsAre;
using testing::FakeClock;
using ::testing::IsEmpty;
using testing::ManualStore;
using testing::ReadOutcome;

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kBlock = 64 * kKiB;

/// A tier in memory that answers at once, or when the test says so.
class FakeTier final : public BlockTier {
 public:
  enum class Mode { kAnswers, kHolds, kFails };

  void Find(const TierBlocks& blocks, std::shared_ptr<TierSink> sink) override {
    ++asked_;
    Question question{std::string(blocks.key), std::string(blocks.etag), blocks.range, std::move(sink)};
    if (mode_ == Mode::kHolds) return held_.push_back(std::move(question));
    if (mode_ == Mode::kAnswers) Answer(question);
    question.sink->OnEnd();
  }
  void Offer(const TierBlocks& blocks, const TierBlock& block, std::shared_ptr<const void> owner) override {
    if (mode_ == Mode::kFails) return;
    EXPECT_EQ(block.bytes.size(), blocks.range.size());
    EXPECT_NE(owner, nullptr);
    EXPECT_FALSE(blocks.etag.empty());
    ++offered_;
    kept_[{std::string(blocks.key), std::string(blocks.etag), blocks.range.begin}] = {
        std::string(block.bytes.data(), block.bytes.size()), block.crc32c};
  }

  void SetMode(Mode mode) { mode_ = mode; }
  void AnswerHeld() {
    for (Question& question : std::exchange(held_, {})) {
      Answer(question);
      question.sink->OnEnd();
    }
  }
  void Damage(const std::string& key, uint64_t begin) {
    for (auto& [name, block] : kept_) {
      if (std::get<0>(name) == key && std::get<2>(name) == begin) block.first[7] ^= 1;
    }
  }
  void Forget(const std::string& key, uint64_t begin) { kept_.erase({key, "E", begin}); }
  size_t kept() const { return kept_.size(); }
  int asked() const { return asked_; }
  int offered() const { return offered_; }
  const std::vector<TierSink::Verdict>& verdicts() const { return verdicts_; }

 private:
  struct Question {
    std::string key;
    std::string etag;
    ByteRange range;
    std::shared_ptr<TierSink> sink;
  };
  void Answer(const Question& question) {
    for (uint64_t at = question.range.begin; at < question.range.end; at += kBlock) {
      const auto found = kept_.find({question.key, question.etag, at});
      if (found == kept_.end()) return;
      verdicts_.push_back(question.sink->OnBlock({found->second.first, found->second.second}));
      if (verdicts_.back() != TierSink::Verdict::kTaken) return;
    }
  }

  Mode mode_ = Mode::kAnswers;
  int asked_ = 0;
  int offered_ = 0;
  std::map<std::tuple<std::string, std::string, uint64_t>, std::pair<std::string, uint32_t>> kept_;
  std::vector<Question> held_;
  std::vector<TierSink::Verdict> verdicts_;
};

/// An object of 1 MiB and a bit that the tier holds whole, and nothing in memory.
class ReaderTierTest : public ::testing::Test {
 protected:
  ReaderTierTest() {
    {
      const ReadOutcome read(*reader_, kObject, {0, 100});
      Complete();
      EXPECT_OK(read.status());
    }
    ForgetMemory();
    EXPECT_EQ(tier_.kept(), 17u);
    asked_before_ = tier_.asked();
    metrics_.bad_checksums = 0;
  }
  ~ReaderTierTest() override { store_.CancelAll(); }

  std::unique_ptr<Reader> MakeReader(Caching caching = Caching::kOn) {
    return std::make_unique<Reader>(store_, clock_, metrics_,
                                    ReaderSettings{.bucket_url = "oss://b", .caching = caching},
                                    ReaderHelpers{.tier = &tier_});
  }
  void ForgetMemory() { reader_ = MakeReader(); }
  void Complete() {
    for (size_t get = 0; get < store_.count(); ++get) {
      if (store_.InFlight(get)) store_.Complete(get);
    }
  }
  size_t gets() const { return store_.count() - 1; }  // Without the one that filled the tier.
  const GetRequest& last() const { return store_.request(store_.count() - 1); }

  const ObjectId kObject{"object", "E", kMiB + 1000};
  const ByteRange kAll{0, kMiB + 1000};
  ManualStore store_;
  FakeClock clock_;
  ReadMetrics metrics_;
  FakeTier tier_;
  std::unique_ptr<Reader> reader_ = MakeReader();
  int asked_before_ = 0;
};

TEST_F(ReaderTierTest, WhatTheTierHasCostsNoRequest) {
  const ReadOutcome read(*reader_, kObject, kAll);
  EXPECT_EQ(read.text(), ContentOf(kObject, kAll));
  EXPECT_EQ(gets(), 0u);
  EXPECT_EQ(metrics_.from_disk, kObject.size);
  EXPECT_EQ(read.data().origin.disk, kObject.size);
  const ReadOutcome again(*reader_, kObject, kAll);
  EXPECT_EQ(again.text(), ContentOf(kObject, kAll));
  EXPECT_EQ(metrics_.from_memory, kObject.size);
  EXPECT_EQ(tier_.asked(), asked_before_ + 1) << "what is in memory is not looked for";
  EXPECT_EQ(tier_.offered(), 17) << "what comes from there is not offered again";
}

TEST_F(ReaderTierTest, TheStoreIsAskedForWhatTheTierLacks) {
  tier_.Forget("object", 3 * kBlock);
  const ReadOutcome begin(*reader_, kObject, {0, 3 * kBlock});
  EXPECT_EQ(begin.text(), ContentOf(kObject, {0, 3 * kBlock}));
  const ReadOutcome read(*reader_, kObject, kAll);
  EXPECT_FALSE(read.done());
  EXPECT_EQ(last().range, (ByteRange{3 * kBlock, kObject.size}));
  Complete();
  EXPECT_EQ(read.text(), ContentOf(kObject, kAll));
  EXPECT_EQ(gets(), 1u);
  EXPECT_EQ(tier_.kept(), 17u) << "what came from the store was offered";
}

TEST_F(ReaderTierTest, OnBothSidesOfWhatIsInMemoryTheTierIsAsked) {
  const ObjectId large{"large", "E", 64 * kMiB};
  const ByteRange all{20 * kMiB, 20 * kMiB + 4 * kBlock};
  const ByteRange middle{20 * kMiB + kBlock, 20 * kMiB + 3 * kBlock};
  {
    const ReadOutcome read(*reader_, large, all);
    Complete();
  }
  ForgetMemory();
  tier_.SetMode(FakeTier::Mode::kFails);
  reader_->Prefetch(large, middle);
  Complete();
  tier_.SetMode(FakeTier::Mode::kAnswers);
  const size_t before = gets();
  const ReadOutcome read(*reader_, large, all);
  EXPECT_EQ(read.text(), ContentOf(large, all));
  EXPECT_EQ(gets(), before);
}

TEST_F(ReaderTierTest, WrongBytesAreNeverServed) {
  tier_.Damage("object", 2 * kBlock);
  const ReadOutcome read(*reader_, kObject, kAll);
  EXPECT_THAT(tier_.verdicts(),
              ElementsAre(TierSink::Verdict::kTaken, TierSink::Verdict::kTaken, TierSink::Verdict::kWrong));
  EXPECT_EQ(last().range, (ByteRange{2 * kBlock, kObject.size}));
  Complete();
  EXPECT_EQ(read.text(), ContentOf(kObject, kAll));
  EXPECT_EQ(metrics_.bad_checksums, 1u);
  EXPECT_EQ(metrics_.errors, 0u);
}

TEST_F(ReaderTierTest, AnotherVersionIsAnotherObject) {
  const ObjectId changed{"object", "E2", kObject.size};
  const ReadOutcome read(*reader_, changed, {0, 100});
  EXPECT_FALSE(read.done());
  EXPECT_EQ(gets(), 1u);
}

// Bytes without a version could be anybody's by the time they are asked for.
TEST_F(ReaderTierTest, WithoutAVersionNothingIsOfferedOrAskedFor) {
  const ObjectId unnamed{"unnamed", "", 1000};
  const ReadOutcome read(*reader_, unnamed, {0, 1000});
  Complete();
  EXPECT_EQ(read.text(), ContentOf(unnamed, {0, 1000}));
  EXPECT_EQ(tier_.asked(), asked_before_);
  EXPECT_EQ(tier_.kept(), 17u);
}

TEST_F(ReaderTierTest, ATierThatFailsIsNoError) {
  tier_.SetMode(FakeTier::Mode::kFails);
  const ReadOutcome read(*reader_, kObject, kAll);
  Complete();
  EXPECT_EQ(read.text(), ContentOf(kObject, kAll));
  EXPECT_EQ(gets(), 1u);
}

TEST_F(ReaderTierTest, ATierThatDoesNotAnswerIsLeftAlone) {
  tier_.SetMode(FakeTier::Mode::kHolds);
  const ReadOutcome read(*reader_, kObject, kAll);
  clock_.Advance(absl::Milliseconds(500));
  reader_->Tick();
  EXPECT_EQ(gets(), 0u);
  clock_.Advance(absl::Seconds(1));
  reader_->Tick();
  ASSERT_EQ(gets(), 1u);
  const ObjectId other{"other", "E", 1000};
  const ReadOutcome next(*reader_, other, {0, 1000});
  EXPECT_EQ(gets(), 2u) << "the next one does not wait for it";
  Complete();
  EXPECT_EQ(read.text(), ContentOf(kObject, kAll));
  EXPECT_EQ(next.text(), ContentOf(other, {0, 1000}));
  tier_.AnswerHeld();  // Too late.
  EXPECT_THAT(tier_.verdicts(), ElementsAre(TierSink::Verdict::kNotWanted));
  tier_.SetMode(FakeTier::Mode::kAnswers);
  const int asked = tier_.asked();
  clock_.Advance(absl::Seconds(31));
  const ObjectId third{"third", "E", 1000};
  const ReadOutcome after(*reader_, third, {0, 1000});
  EXPECT_EQ(tier_.asked(), asked + 1) << "then it is asked again";
}

TEST_F(ReaderTierTest, AReaderThatEndsWaitsForNoTier) {
  tier_.SetMode(FakeTier::Mode::kHolds);
  const ReadOutcome read(*reader_, kObject, kAll);
  reader_.reset();
  EXPECT_TRUE(absl::IsCancelled(read.status()));
  EXPECT_EQ(gets(), 0u);
  tier_.AnswerHeld();
}

TEST_F(ReaderTierTest, ACancelledReadCostsNoRequestWhenTheTierAnswers) {
  tier_.SetMode(FakeTier::Mode::kHolds);
  const ReadContext context{std::make_shared<Cancellation>()};
  const ReadOutcome read(*reader_, kObject, kAll, context);
  tier_.Forget("object", 0);
  context.cancellation->Cancel();
  tier_.AnswerHeld();
  EXPECT_EQ(gets(), 0u);
  EXPECT_EQ(reader_->fetches_in_flight(), 0u);
  EXPECT_EQ(reader_->memory().used, 0u);
}

TEST_F(ReaderTierTest, DirectModeKeepsNothingAnywhere) {
  reader_ = MakeReader(Caching::kOff);
  const ReadOutcome read(*reader_, kObject, kAll);
  EXPECT_EQ(gets(), 1u);
  Complete();
  EXPECT_EQ(read.text(), ContentOf(kObject, kAll));
  EXPECT_EQ(tier_.asked(), asked_before_);
}

}  // namespace
}  // namespace bucketvol
