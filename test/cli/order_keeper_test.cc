#include "mounter/cli/order_keeper.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/image/image_sequence.h"
#include "test/image/built_index.h"
#include "test/prefetch/shuffles.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using Epoch = OrderKeeper::Settings::Epoch;

constexpr size_t kFiles = 1000;

std::map<std::string, uint64_t> Sizes(size_t files) {
  std::map<std::string, uint64_t> sizes;
  for (size_t i = 0; i < files; ++i) sizes[absl::StrCat("f", 10'000 + i)] = 1'000;
  return sizes;
}

/// Workers of mounts that follow each other, over one directory of an index.
class OrderKeeperTest : public ::testing::Test {
 protected:
  struct Worker {
    std::unique_ptr<Reader> reader;
    std::unique_ptr<OrderKeeper> keeper;
  };

  OrderKeeperTest() {
    store_.SetLatency([](const testing::FakeRequest&) { return absl::Milliseconds(1); });
  }
  ~OrderKeeperTest() override { time_.RunUntilIdle(); }

  Worker Start(Epoch epoch = Epoch::kNew) { return StartOn(index_, epoch, sequence_); }
  Worker StartOn(const testing::BuiltIndex& index, Epoch epoch, const ImageSequence& sequence) {
    Worker worker;
    worker.reader = std::make_unique<Reader>(store_, time_, metrics_, ReaderSettings{},
                                             ReaderHelpers{.sequence = &sequence});
    worker.keeper = std::make_unique<OrderKeeper>(
        *worker.reader, index.table(),
        OrderKeeper::Settings{.directory = directory_.path(), .most = 1 << 20, .epoch = epoch});
    worker.keeper->Begin();
    return worker;
  }

  /// A worker of a new mount that has read these objects.
  Worker Having(const std::vector<uint32_t>& read) {
    Worker worker = Start();
    Read(worker, read);
    return worker;
  }

  /// Reads objects one after the other; returns for how many a request was made when they were asked for.
  size_t Read(Worker& worker, const std::vector<uint32_t>& order) {
    size_t waited = 0;
    for (const uint32_t row : order) {
      const ObjectId object = *sequence_.At(row);
      bool done = false;
      const size_t before = store_.Count(testing::FakeRequest::Op::kGet);
      const uint64_t memory = metrics_.from_memory;
      worker.reader->Read(object, {0, object.size}, {.ordinal = row},
                          [&](const absl::StatusOr<ReadData>& data) {
                            EXPECT_OK(data);
                            done = true;
                          });
      while (!done && time_.RunOne()) {
      }
      waited +=
          metrics_.from_memory == memory && store_.Count(testing::FakeRequest::Op::kGet) > before ? 1 : 0;
      time_.RunUntilIdle();
    }
    worker.keeper->Tick();
    return waited;
  }
  std::vector<uint32_t> Stored() const {
    const auto subject = OrderSubject::Of(index_.table());
    const auto order = ReadOrder(directory_.path(), *subject, kFiles);
    return order.ok() ? order->rows : std::vector<uint32_t>();
  }
  static std::vector<uint32_t> Part(const std::vector<uint32_t>& order, size_t begin, size_t end) {
    return {order.begin() + static_cast<long>(begin), order.begin() + static_cast<long>(end)};
  }

  testing::VirtualTime time_;
  testing::FakeObjectStore store_{time_};
  testing::BuiltIndex index_{store_, Sizes(kFiles)};
  const ImageSequence sequence_{index_.table()};
  testing::TempDir directory_;
  ReadMetrics metrics_;
  const std::vector<uint32_t> order_ = Permutation(kFiles, 1);
  const std::vector<uint32_t> other_ = Permutation(kFiles, 2);
};

TEST_F(OrderKeeperTest, TheNextMountFollowsWhatWasRead) {
  Worker first = Start();
  EXPECT_GE(Read(first, order_), 900u);
  EXPECT_EQ(Stored(), order_);
  Worker second = Start();
  EXPECT_LE(Read(second, order_), 50u);
  EXPECT_EQ(Stored(), order_);
}

TEST_F(OrderKeeperTest, AnIndexOfTheSameListingGoesOnWithIt) {
  Worker first = Having(order_);
  const testing::BuiltIndex again(store_, Sizes(kFiles));
  Worker second = StartOn(again, Epoch::kNew, sequence_);
  EXPECT_LE(Read(second, order_), 50u);
}

TEST_F(OrderKeeperTest, AnIndexOfAnotherListingDoesNot) {
  Worker first = Having(order_);
  const testing::BuiltIndex longer(store_, Sizes(kFiles + 1));
  Worker second = StartOn(longer, Epoch::kNew, sequence_);
  EXPECT_GE(Read(second, order_), 900u);
}

TEST_F(OrderKeeperTest, AWorkerThatDiedIsGoneOnWith) {
  Worker first = Having(Part(order_, 0, 400));
  Worker successor = Start(Epoch::kGoesOn);
  Read(successor, Part(order_, 400, kFiles));
  EXPECT_EQ(Stored(), order_);
}

TEST_F(OrderKeeperTest, AJobThatBreaksOffLeavesTheLongerRecording) {
  Worker first = Having(order_);
  Worker second = Having(Part(other_, 0, 300));
  EXPECT_EQ(Stored(), order_);
  Worker third = Having(Part(order_, 300, kFiles));
  EXPECT_EQ(Stored(), order_);
}

TEST_F(OrderKeeperTest, AnotherWholeOrderTakesItsPlace) {
  Worker first = Having(order_);
  Worker second = Having(other_);
  EXPECT_EQ(Stored(), other_);
}

TEST_F(OrderKeeperTest, TheFirstEpochOfAMountStays) {
  Worker worker = Having(order_);
  time_.Advance(absl::Minutes(2));  // What was read has left the memory.
  worker.reader->Tick();
  Read(worker, other_);
  EXPECT_EQ(Stored(), order_);
}

TEST_F(OrderKeeperTest, TheSecondEpochOfAMountIsFollowed) {
  Worker worker = Having(order_);
  time_.Advance(absl::Minutes(2));
  worker.reader->Tick();
  Read(worker, Part(order_, 0, 100));  // Tells that it is over.
  EXPECT_LE(Read(worker, Part(order_, 100, kFiles)), 50u);
}

}  // namespace
}  // namespace bucketvol
