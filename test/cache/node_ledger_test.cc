#include "mounter/cache/node_ledger.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "test/cache/node_memory_rig.h"

namespace bucketvol {
namespace {

using Claim = NodeLedger::Claim;
using Want = NodeLedger::Want;

class NodeLedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(ledger_, rig_.Map());
    asker_ = ledger_->Take(0, Claim::kShared);
  }
  /// Takes an entry.
  NodeLedger::Place Hold(uint64_t bytes, uint64_t scope = 0, Claim claim = Claim::kShared) {
    const NodeLedger::Place place = ledger_->Take(scope, claim);
    ledger_->SetBytes(place, bytes);
    return place;
  }
  NodeLedger::Totals Look(uint64_t scope = 0) { return ledger_->Look(scope, asker_); }

  testing::NodeMemoryRig rig_;
  std::unique_ptr<NodeLedger> ledger_;
  NodeLedger::Place asker_;
};

/// Another process of the node, until the test ends it.
class Neighbour {
 public:
  Neighbour(const testing::NodeMemoryRig& rig, const std::function<void(NodeLedger&)>& action) {
    int ready[2];
    if (pipe(ready) != 0) abort();
    pid_ = fork();
    if (pid_ == 0) {
      auto ledger = rig.Map();
      if (!ledger.ok()) _exit(1);
      action(**ledger);
      if (write(ready[1], "x", 1) != 1) _exit(1);
      while (true) pause();
    }
    close(ready[1]);
    char done;
    EXPECT_EQ(read(ready[0], &done, 1), 1);
    close(ready[0]);
  }
  ~Neighbour() { Kill(); }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

TEST_F(NodeLedgerTest, AddsUpWhatIsHeldAndForgetsWhatIsGivenBack) {
  const NodeLedger::Place shared = Hold(100);
  const NodeLedger::Place firm = Hold(30, 0, Claim::kFirm);
  EXPECT_EQ(Look().bytes, 130u);
  EXPECT_EQ(Look().firm_bytes, 30u);
  EXPECT_EQ(Look().sharers, 1u);
  ledger_->GiveBack(firm);
  ledger_->SetBytes(shared, 7);
  EXPECT_EQ(Look().bytes, 7u);
  EXPECT_EQ(Look().firm_bytes, 0u);
  EXPECT_EQ(Hold(1).number, firm.number);
}

TEST_F(NodeLedgerTest, OneWhoWantsIsSeenByOthersWhileItHoldsSomething) {
  const NodeLedger::Place place = Hold(100);
  EXPECT_FALSE(Look().wanted);
  ledger_->SetWant(place, Want::kFairShare);
  EXPECT_TRUE(Look().wanted);
  EXPECT_FALSE(ledger_->Look(0, place).wanted);
  ledger_->SetBytes(place, 0);
  EXPECT_FALSE(Look().wanted);
}

TEST_F(NodeLedgerTest, ACgroupSeesItsOwnAndTheMachineEverything) {
  Hold(1);
  const NodeLedger::Place inside = Hold(20, 5);
  Hold(300, 6);
  EXPECT_EQ(Look().bytes, 321u);
  EXPECT_EQ(Look().firm_bytes, 320u);
  EXPECT_EQ(Look(5).bytes, 20u);
  EXPECT_EQ(Look(5).sharers, 1u);
  EXPECT_EQ(Look(5).firm_bytes, 0u);
  EXPECT_EQ(Look(7).bytes, 0u);
  ledger_->SetWant(inside, Want::kFairShare);
  EXPECT_FALSE(Look().wanted);
  EXPECT_TRUE(Look(5).wanted);
}

TEST_F(NodeLedgerTest, AKilledProcessIsForgottenAtTheNextLookAndALiveOneIsNot) {
  Neighbour live(rig_, [](NodeLedger& ledger) { ledger.SetBytes(ledger.Take(0, Claim::kShared), 10); });
  Neighbour dead(rig_, [](NodeLedger& ledger) { ledger.SetBytes(ledger.Take(0, Claim::kFirm), 200); });
  Hold(3000);
  ledger_->Reap();
  EXPECT_EQ(Look().bytes, 3210u);
  dead.Kill();
  EXPECT_EQ(Look().bytes, 3210u);
  ledger_->Reap();
  EXPECT_EQ(Look().bytes, 3010u);
}

TEST_F(NodeLedgerTest, ThePlaceOfAKilledProcessIsTakenAgain) {
  std::optional<Neighbour> dead;
  dead.emplace(rig_, [](NodeLedger& ledger) { ledger.SetBytes(ledger.Take(0, Claim::kFirm), 200); });
  const NodeLedger::Place beside = Hold(1);
  dead->Kill();
  const NodeLedger::Place again = Hold(10);
  EXPECT_LT(*again.number, *beside.number);
  ledger_->Reap();
  EXPECT_EQ(Look().bytes, 11u);
  EXPECT_EQ(Look().firm_bytes, 0u);
}

TEST_F(NodeLedgerTest, ProcessesThatComeGoAndDieLeaveNothing) {
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    auto ledger = rig_.Map();
    while (ledger.ok()) {
      const NodeLedger::Place place = (*ledger)->Take(0, Claim::kShared);
      (*ledger)->SetBytes(place, 100);
      (*ledger)->Reap();
      // Whoever has a lock is not reaped, not even between two looks of others.
      if ((*ledger)->Look(0, {}).bytes < 100) break;
      (*ledger)->GiveBack(place);
    }
    _exit(1);
  }
  // Each is killed wherever it just is.
  for (const pid_t child : children) {
    for (int i = 0; i < 200; ++i) {
      const NodeLedger::Place place = Hold(1000);
      ledger_->Reap();
      ASSERT_GE(Look().bytes, 1000u);
      ledger_->GiveBack(place);
    }
    kill(child, SIGKILL);
    int how = 0;
    waitpid(child, &how, 0);
    EXPECT_TRUE(WIFSIGNALED(how));
  }
  ledger_->Reap();
  EXPECT_EQ(Look().bytes, 0u);
}

TEST_F(NodeLedgerTest, ThreadsGetPlacesOfTheirOwn) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([this] {
      for (int round = 0; round < 200; ++round) {
        const NodeLedger::Place place = Hold(1);
        ledger_->Reap();
        EXPECT_GE(Look().bytes, 1u);
        ledger_->GiveBack(place);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Look().bytes, 0u);
}

TEST_F(NodeLedgerTest, AFullTableHasNoPlaceAndNothingIsCountedThere) {
  NodeLedger::Place last;
  for (size_t i = 1; i < NodeLedger::kEntries; ++i) last = Hold(1);
  ASSERT_TRUE(last.number.has_value());
  const NodeLedger::Place none = Hold(1000);
  EXPECT_FALSE(none.number.has_value());
  ledger_->SetWant(none, Want::kFairShare);
  ledger_->GiveBack(none);
  EXPECT_EQ(Look().bytes, NodeLedger::kEntries - 1);
  ledger_->GiveBack(last);
  EXPECT_TRUE(Hold(1).number.has_value());
}

TEST_F(NodeLedgerTest, WhatAnotherProcessScribblesIsHarmless) {
  const UniqueFd table = rig_.Open("table");
  std::string noise(NodeLedger::TableBytes() - 8, '\xff');
  ASSERT_EQ(pwrite(table.get(), noise.data(), noise.size(), 8), static_cast<ssize_t>(noise.size()));
  EXPECT_GE(Look().bytes, uint64_t{1} << 50);
  ledger_->GiveBack(asker_);
  ledger_->Reap();
  EXPECT_EQ(Look().bytes, 0u);
}

TEST_F(NodeLedgerTest, ATableOfAnotherLayoutIsRefused) {
  const UniqueFd table = rig_.Open("table");
  ASSERT_EQ(pwrite(table.get(), "garbage!", 8, 0), 8);
  EXPECT_EQ(rig_.Map().status().code(), absl::StatusCode::kFailedPrecondition);
  rig_.Resize(NodeLedger::TableBytes() - 1);
  EXPECT_EQ(rig_.Map().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(NodeLedgerTest, TheTableIsNotKeptOpen) {
  UniqueFd table = rig_.Open("table");
  const int number = table.get();
  testing::NodeMemoryRig other;
  ASSERT_OK(NodeLedger::Map(std::move(table), other.Open("locks")).status());
  EXPECT_LT(fcntl(number, F_GETFD), 0);
}

}  // namespace
}  // namespace bucketvol
