#include "test/bench/load/work.h"

#include <errno.h>
#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"

namespace bucketvol::bench {
namespace {

class CommonFiles final : public Work {
 public:
  CommonFiles(uint32_t files, LoadResult& result) : files_(files), result_(result) {}
  std::optional<Access> Next(int) override {
    const uint64_t next = result_.next_file.fetch_add(1, std::memory_order_relaxed);
    if (next >= files_) return std::nullopt;
    return Access{.file = static_cast<uint32_t>(next)};
  }

 private:
  const uint32_t files_;
  LoadResult& result_;
};

class OwnAccesses final : public Work {
 public:
  explicit OwnAccesses(const LoadJob& job) : accesses_(job.accesses), next_(job.accesses.size()) {}
  std::optional<Access> Next(int reader) override {
    const std::vector<Access>& mine = accesses_[static_cast<size_t>(reader)];
    size_t& next = next_[static_cast<size_t>(reader)];
    if (next == mine.size()) return std::nullopt;
    return mine[next++];
  }

 private:
  const std::vector<std::vector<Access>>& accesses_;
  std::vector<size_t> next_;  // Each touched by one reader.
};

class RandomBlocks final : public Work {
 public:
  RandomBlocks(const LoadJob& job, std::vector<uint64_t> sizes) : job_(job), sizes_(std::move(sizes)) {
    for (int reader = 0; reader < job.readers; ++reader) {
      readers_.push_back({std::mt19937_64(job.seed * 1'000'003 + static_cast<uint64_t>(reader)), 0});
    }
  }
  std::optional<Access> Next(int reader) override {
    OneReader& mine = readers_[static_cast<size_t>(reader)];
    if (job_.count != 0 && mine.done++ == job_.count) return std::nullopt;
    const auto file = static_cast<uint32_t>(mine.random() % sizes_.size());
    const uint64_t room = sizes_[file] - std::min(sizes_[file], job_.block);
    const uint64_t offset = mine.random() % (room / job_.alignment + 1) * job_.alignment;
    return Access{file, offset, std::min(job_.block, sizes_[file] - offset)};
  }

 private:
  struct OneReader {
    std::mt19937_64 random;
    uint64_t done;
  };
  const LoadJob& job_;
  const std::vector<uint64_t> sizes_;
  std::vector<OneReader> readers_;
};

absl::StatusOr<std::vector<uint64_t>> SizesOf(const LoadJob& job) {
  std::vector<uint64_t> sizes;
  for (const std::string& file : job.files) {
    const std::string path = absl::StrCat(job.directory, "/", file);
    struct stat status;
    if (stat(path.c_str(), &status) != 0) return ErrnoToStatus(errno, path);
    sizes.push_back(static_cast<uint64_t>(status.st_size));
  }
  return sizes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Work>> MakeWork(const LoadJob& job, LoadResult& result) {
  switch (job.order) {
    case Order::kFiles:
      return std::make_unique<CommonFiles>(static_cast<uint32_t>(job.files.size()), result);
    case Order::kAccesses:
      return std::make_unique<OwnAccesses>(job);
    case Order::kRandom:
      break;
  }
  absl::StatusOr<std::vector<uint64_t>> sizes = SizesOf(job);
  if (!sizes.ok()) return sizes.status();
  return std::make_unique<RandomBlocks>(job, *std::move(sizes));
}

}  // namespace bucketvol::bench
