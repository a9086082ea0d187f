#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/base/file.h"
#include "mounter/image/image_server.h"
#include "mounter/session/fuse_session.h"
#include "test/image/built_index.h"
#include "test/image/kernel_objects.h"
#include "test/session/test_slots.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using testing::BuiltIndex;
using testing::CachedPages;
using testing::FakeContent;
using testing::FakeObjectStore;
using testing::FakeRequest;
using testing::FuseMount;
using testing::LoopDevice;
using testing::VirtualTime;

constexpr uint64_t kMiB = 1 << 20;

std::map<std::string, uint64_t> SomeObjects() {
  std::map<std::string, uint64_t> sizes = {
      {"empty", 0}, {"one", 1}, {"photo.jpg", 100'556}, {"model", 40 * kMiB + 11}};
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i)
    sizes["d" + std::to_string(i % 7) + "/f" + std::to_string(i)] = random() % 30'000;
  return sizes;
}

/// The whole path below an image volume in one process: store, reader, image server, FUSE session; the
/// kernel's side is real.
class KernelImageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = testing::WhyNoKernelObjects(); !why.empty()) GTEST_SKIP() << why;
    ASSERT_OK_AND_ASSIGN(fuse_, testing::MakeFuseMount());
    serving_ = std::thread([this] { served_ = session_.Serve(std::move(fuse_.device), server_); });
    for (size_t i = 0; i < server_.Files().size(); ++i) {
      const std::string name = server_.Files()[i].name;
      files_.emplace_back(openat(fuse_.mount.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
      ASSERT_TRUE(files_.back().valid()) << name << ": " << strerror(errno);
    }
  }
  void TearDown() override {
    if (!serving_.joinable()) return;
    files_.clear();
    fuse_.mount.Reset();  // The last reference: the kernel ends the session.
    serving_.join();
    EXPECT_OK(served_);
  }

  std::vector<LoopDevice> Loops(bool direct) {
    std::vector<LoopDevice> loops;
    for (const UniqueFd& file : files_) {
      auto loop = testing::MakeLoopDevice(file.get(), direct);
      EXPECT_OK(loop);
      EXPECT_EQ(loop->direct, direct);
      loops.push_back(*std::move(loop));
    }
    return loops;
  }
  std::string ReadAll(int fd, size_t step) {
    std::string all;
    std::unique_ptr<char, decltype(&std::free)> buffer(static_cast<char*>(std::aligned_alloc(4096, step)),
                                                       &std::free);
    while (true) {
      const ssize_t got = read(fd, buffer.get(), step);
      EXPECT_GE(got, 0) << strerror(errno);
      if (got <= 0) return all;
      all.append(buffer.get(), static_cast<size_t>(got));
    }
  }
  int64_t PagesOfFuseFiles() const {
    int64_t pages = 0;
    for (const UniqueFd& file : files_) pages += CachedPages(file.get());
    return pages;
  }

  void ExpectTheTree(int root) {
    for (const auto& [key, size] : SomeObjects()) {
      struct stat attributes {};
      ASSERT_EQ(fstatat(root, key.c_str(), &attributes, 0), 0) << key;
      EXPECT_EQ(static_cast<uint64_t>(attributes.st_size), size) << key;
    }
  }
  void ExpectTheContent(int root, int flags) {
    for (const auto& [key, size] : SomeObjects()) {
      UniqueFd file(openat(root, key.c_str(), O_RDONLY | O_CLOEXEC | flags));
      ASSERT_TRUE(file.valid()) << key;
      std::string expected(size, '\0');
      FakeContent(key, 0, absl::MakeSpan(expected));
      EXPECT_TRUE(ReadAll(file.get(), flags == O_DIRECT ? kMiB : 10'000) == expected)
          << key << " flags " << flags;
    }
  }

  ThreadPool pool_{"store", 2};
  FakeObjectStore store_{pool_};
  BuiltIndex index_{store_, SomeObjects()};
  ReadMetrics metrics_;
  Reader reader_{store_, Clock::Real(), metrics_, ReaderSettings{.bucket_url = "oss://b"}};
  ImageServer server_{index_.table(), index_.manifest().devices, reader_, metrics_};
  VirtualTime time_;  // Of the limit to a read only.
  RequestSlots slots_ = testing::MakeSlots();
  FuseSession session_{FuseSessionSettings(), slots_, time_, time_};
  FuseMount fuse_;
  std::vector<UniqueFd> files_;
  std::thread serving_;
  absl::Status served_;
};

TEST_F(KernelImageTest, LoopDevicesWithDirectIoReadAsTheDevicesBufferedAndDirect) {
  const std::vector<LoopDevice> loops = Loops(/*direct=*/true);
  for (size_t i = 0; i < loops.size(); ++i) {
    const std::string expected = index_.Device(static_cast<uint32_t>(i));
    for (const int flags : {0, O_DIRECT}) {
      UniqueFd device(open(loops[i].path.c_str(), O_RDONLY | O_CLOEXEC | flags));
      const std::string read = ReadAll(device.get(), 4 * kMiB);
      EXPECT_TRUE(read == expected) << loops[i].path << " flags " << flags << " size " << read.size();
    }
  }
  EXPECT_LE(PagesOfFuseFiles(), 0) << "every byte is cached twice";
}

TEST_F(KernelImageTest, EvenABufferedLoopDeviceDoesNotCacheTwice) {
  const std::vector<LoopDevice> loops = Loops(/*direct=*/false);
  UniqueFd device(open(loops[0].path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(ReadAll(device.get(), kMiB) == index_.Device(0));
  EXPECT_LE(PagesOfFuseFiles(), 0);
}

TEST_F(KernelImageTest, LargeReadsComeInLargeRequestsAndManyAtOnce) {
  const std::vector<LoopDevice> loops = Loops(/*direct=*/true);
  UniqueFd device(open(loops[0].path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  const uint64_t before = metrics_.requests;
  const std::string read = ReadAll(device.get(), 8 * kMiB);
  EXPECT_LE(metrics_.requests - before, 4 * (read.size() / kMiB + 8)) << "requests are smaller than 256 KiB";
}

TEST_F(KernelImageTest, AReadThatTheStoreNeverAnswersFails) {
  const std::vector<LoopDevice> loops = Loops(/*direct=*/true);
  const ObjectExtent extent = *index_.table().At(0);
  UniqueFd device(open(loops[extent.device].path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  store_.Hold();
  int error = 0;
  std::thread application([&] {
    const std::unique_ptr<char, decltype(&std::free)> page(static_cast<char*>(std::aligned_alloc(4096, 4096)),
                                                           &std::free);
    error = pread(device.get(), page.get(), 4096, static_cast<off_t>(extent.offset)) < 0 ? errno : 0;
  });
  store_.AwaitHeld(1);
  time_.Advance(FuseSessionSettings().request_timeout + absl::Seconds(1));
  application.join();
  EXPECT_EQ(error, EIO);
  EXPECT_EQ(session_.reads_timed_out(), 1u);
  store_.Release();
}

TEST_F(KernelImageTest, AMountedImageHasTheFilesAndCostsNothingForMetadata) {
  const std::vector<LoopDevice> loops = Loops(/*direct=*/true);
  ASSERT_OK_AND_ASSIGN(const UniqueFd meta, OpenFile(index_.meta_path(), O_RDONLY));
  ASSERT_OK_AND_ASSIGN(const LoopDevice image, testing::MakeLoopDevice(meta.get(), /*direct=*/true));
  std::vector<std::string> paths;
  for (const LoopDevice& loop : loops) paths.push_back(loop.path);
  ASSERT_OK_AND_ASSIGN(const UniqueFd root, testing::MountErofs(image.path, paths));
  ExpectTheTree(root.get());
  EXPECT_EQ(store_.Count(FakeRequest::Op::kGet), 0u);
  ExpectTheContent(root.get(), 0);
  ExpectTheContent(root.get(), O_DIRECT);
}

TEST_F(KernelImageTest, AnImageMountedOnTheFilesThemselvesReadsRight) {
  std::vector<std::string> paths;
  for (const UniqueFd& file : files_) paths.push_back("/proc/self/fd/" + std::to_string(file.get()));
  const absl::StatusOr<UniqueFd> root = testing::MountErofs(index_.meta_path(), paths);
  if (!root.ok()) GTEST_SKIP() << "this kernel mounts EROFS on block devices only: " << root.status();
  ExpectTheTree(root->get());
  EXPECT_EQ(store_.Count(FakeRequest::Op::kGet), 0u);
  ExpectTheContent(root->get(), 0);
  EXPECT_LE(PagesOfFuseFiles(), 0);
}

}  // namespace
}  // namespace bucketvol
