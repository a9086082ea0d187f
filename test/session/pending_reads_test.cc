#include "mounter/session/pending_reads.h"

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::VirtualTime;

/// Writes down what each read was answered with.
class Answers {
 public:
  std::unique_ptr<ReadRequest> Request() { return std::make_unique<Recorder>(*this); }
  std::vector<std::string> Take() {
    absl::MutexLock lock(&mu_);
    return std::exchange(answers_, {});
  }

 private:
  class Recorder final : public ReadRequest {
   public:
    explicit Recorder(Answers& answers) : answers_(answers) {}
    void SendData(absl::Span<const Piece> pieces) override {
      std::string all;
      for (const Piece& piece : pieces) all.append(piece.data(), piece.size());
      answers_.Note(all);
    }
    void SendErrno(int error) override { answers_.Note("error " + std::to_string(error)); }
    void Forget() override { answers_.Note("forgotten"); }

   private:
    Answers& answers_;
  };

  void Note(std::string answer) {
    absl::MutexLock lock(&mu_);
    answers_.push_back(std::move(answer));
  }

  absl::Mutex mu_;
  std::vector<std::string> answers_ ABSL_GUARDED_BY(mu_);
};

const std::string kEio = "error " + std::to_string(EIO);

class PendingReadsTest : public ::testing::Test {
 protected:
  void Send(ReadReply& reply, absl::string_view text) { reply.SendData({Piece(text.data(), text.size())}); }

  VirtualTime time_;
  Answers answers_;
  std::shared_ptr<PendingReads> reads_ = PendingReads::Create(time_, time_, absl::Seconds(100));
};

TEST_F(PendingReadsTest, AnswersOnceHoweverOftenItIsTold) {
  std::unique_ptr<ReadReply> reply = reads_->Add(answers_.Request());
  EXPECT_EQ(reads_->size(), 1u);
  Send(*reply, "data");
  Send(*reply, "more");
  reply->SendError(absl::InternalError("late"));
  reply.reset();
  EXPECT_THAT(answers_.Take(), ElementsAre("data"));
  EXPECT_EQ(reads_->size(), 0u);
}

TEST_F(PendingReadsTest, ADroppedReplyIsAnError) {
  reads_->Add(answers_.Request()).reset();
  EXPECT_THAT(answers_.Take(), ElementsAre(kEio));
}

TEST_F(PendingReadsTest, AnErrorBecomesItsNumber) {
  reads_->Add(answers_.Request())->SendError(absl::FailedPreconditionError("changed"));
  EXPECT_THAT(answers_.Take(), ElementsAre("error " + std::to_string(ESTALE)));
}

TEST_F(PendingReadsTest, AnswersWhatTheReaderForgot) {
  std::unique_ptr<ReadReply> first = reads_->Add(answers_.Request());
  time_.Advance(absl::Seconds(60));
  std::unique_ptr<ReadReply> second = reads_->Add(answers_.Request());
  time_.Advance(absl::Seconds(39));
  EXPECT_THAT(answers_.Take(), IsEmpty());
  time_.Advance(absl::Seconds(1));
  EXPECT_THAT(answers_.Take(), ElementsAre(kEio));
  EXPECT_EQ(reads_->timed_out(), 1u);
  Send(*first, "too late");
  Send(*second, "in time");
  EXPECT_THAT(answers_.Take(), ElementsAre("in time"));
  EXPECT_EQ(reads_->size(), 0u);
}

TEST_F(PendingReadsTest, TheLimitHoldsForEveryReadOfALongRun) {
  for (int round = 0; round < 5; ++round) {
    const std::unique_ptr<ReadReply> forgotten = reads_->Add(answers_.Request());
    time_.Advance(absl::Seconds(70));
    Send(*reads_->Add(answers_.Request()), "quick");
    time_.Advance(absl::Seconds(31));
    EXPECT_THAT(answers_.Take(), ElementsAre("quick", kEio));
  }
}

TEST_F(PendingReadsTest, AbandonForgetsAndLaterAnswersDoNothing) {
  const std::unique_ptr<ReadReply> reply = reads_->Add(answers_.Request());
  reads_->Abandon();
  reads_->AwaitEmpty();
  Send(*reply, "data");
  EXPECT_THAT(answers_.Take(), ElementsAre("forgotten"));
}

TEST_F(PendingReadsTest, RepliesAndTimerMayComeAfterItsOwnerLetGo) {
  std::unique_ptr<ReadReply> reply = reads_->Add(answers_.Request());
  reads_->Abandon();
  reads_.reset();
  reply.reset();
  time_.Advance(absl::Seconds(200));
  EXPECT_THAT(answers_.Take(), ElementsAre("forgotten"));
}

TEST_F(PendingReadsTest, TimerAndReaderTogetherAnswerOnce) {
  constexpr size_t kReads = 2'000;
  std::vector<std::unique_ptr<ReadReply>> replies;
  for (size_t i = 0; i < kReads; ++i) replies.push_back(reads_->Add(answers_.Request()));
  std::thread reader([&] {
    for (std::unique_ptr<ReadReply>& reply : replies) Send(*reply, "data");
  });
  time_.Advance(absl::Seconds(100));
  reader.join();
  reads_->AwaitEmpty();
  EXPECT_EQ(answers_.Take().size(), kReads);
}

}  // namespace
}  // namespace bucketvol
