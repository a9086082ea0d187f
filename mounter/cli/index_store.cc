#include "mounter/cli/index_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "mounter/base/crc.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/image/order_file.h"
#include "mounter/index/listing_hints.h"

namespace bucketvol {
namespace {

constexpr char kBuildLock[] = "/build.lock";
constexpr char kUseLock[] = "/use.lock";
// Between two looks at the lock of another builder.
constexpr absl::Duration kLockPause = absl::Milliseconds(20);
// So many looks are made before what is waited for is told again.
constexpr int kLooksPerWord = 10;
constexpr size_t kNumberBytes = 64;

// Not for security: the manifest tells what an index is of. Two checksums over different texts make a clash
// unlikely.
std::string NameOf(const IndexKey& key) {
  const std::string text =
      absl::StrCat(key.source, "\n", key.endpoint, "\n", key.options, "\n", key.identity);
  return absl::StrFormat("%016x%08x", Crc64(0, text), Crc32c(0, text));
}

enum class Lock { kExclusive, kShared };

// False: somebody else has it.
absl::StatusOr<bool> TryLock(const UniqueFd& fd, Lock lock, absl::string_view what) {
  if (flock(fd.get(), (lock == Lock::kExclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return ErrnoToStatus(errno, absl::StrCat("lock ", what));
}

bool HasManifest(const std::string& directory) {
  return access(absl::StrCat(directory, "/", kManifestName).c_str(), F_OK) == 0;
}

// The caller holds both locks.
void RemoveIndex(const std::string& directory) {
  unlink(absl::StrCat(directory, "/", kManifestName).c_str());  // First: without it the rest is no index.
  for (const std::string& name : NamesIn(directory)) {
    if (name != kBuildLock + 1) unlink(absl::StrCat(directory, "/", name).c_str());
  }
  unlink((directory + kBuildLock).c_str());  // Last: from now on the directory is the next builder's.
  rmdir(directory.c_str());
}

std::optional<int64_t> NumberIn(const std::string& path) {
  const auto text = ReadWholeFile(path, kNumberBytes);
  int64_t number = 0;
  if (!text.ok() || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

// Readers see no empty file meanwhile.
absl::Status ReplaceNumber(const UniqueFd& fd, int64_t number, const std::string& path) {
  const std::string text = absl::StrCat(number, "\n");
  RETURN_IF_ERROR(WriteAllAt(fd.get(), text, 0, path));
  if (ftruncate(fd.get(), static_cast<off_t>(text.size())) != 0)
    return ErrnoToStatus(errno, absl::StrCat("write ", path));
  return absl::OkStatus();
}

absl::Time KeptUntil(const std::string& directory) {
  const std::optional<int64_t> seconds = NumberIn(directory + kUseLock);
  return seconds ? absl::FromUnixSeconds(*seconds) : absl::InfinitePast();
}

uint64_t KeysListed(const std::string& directory) {
  return static_cast<uint64_t>(std::max<int64_t>(0, NumberIn(directory + kBuildLock).value_or(0)));
}

// What a killed builder left beside the files of an index. The caller holds the build lock.
void RemoveDebris(const std::string& directory) {
  for (const std::string& name : NamesIn(directory)) {
    const bool known = name == kManifestName || name == kMetaName || name == kTableName ||
                       name == kHintsName || name == kOrderName || name == kBuildLock + 1 ||
                       name == kUseLock + 1;
    if (!known) unlink(absl::StrCat(directory, "/", name).c_str());
  }
}

// False: it is being built.
bool CollectOne(const std::string& directory, absl::Time now) {
  auto build = OpenFile(directory + kBuildLock, O_RDWR | O_CREAT);
  auto use = OpenFile(directory + kUseLock, O_RDWR | O_CREAT);
  if (!build.ok() || !use.ok()) return true;
  if (!TryLock(*build, Lock::kExclusive, directory).value_or(false)) return false;
  // Somebody removed the directory before we had the lock, and somebody may have made it anew.
  if (!IsTheFileAt(*build, directory + kBuildLock)) return false;
  RemoveDebris(directory);
  if (!TryLock(*use, Lock::kExclusive, directory).value_or(false)) return true;
  if (HasManifest(directory) && now < KeptUntil(directory)) return true;
  LogInfo("removing an index that nobody uses: ", directory);
  RemoveIndex(directory);
  return true;
}

}  // namespace

IndexLease::IndexLease(std::string directory, UniqueFd build_lock, UniqueFd use_lock)
    : directory_(std::move(directory)), build_lock_(std::move(build_lock)), use_lock_(std::move(use_lock)) {}

IndexLease::~IndexLease() {
  if (!use_lock_.valid() || !build_lock_.valid() || HasManifest(directory_)) return;
  RemoveIndex(directory_);
  rmdir(directory_.substr(0, directory_.rfind('/')).c_str());  // Goes only when empty.
}

IndexLease IndexLease::Join(std::string directory, UniqueFd use_lock) {
  return IndexLease(std::move(directory), UniqueFd(), std::move(use_lock));
}

absl::Status IndexLease::KeepUntil(absl::Time time) const {
  return ReplaceNumber(use_lock_, absl::ToUnixSeconds(time), directory_ + kUseLock);
}

void IndexLease::NoteKeys(uint64_t keys) const {
  // It only informs: a full disk will stop the build by itself.
  (void)ReplaceNumber(build_lock_, static_cast<int64_t>(keys), directory_ + kBuildLock).ok();
}

IndexStore::IndexStore(const std::string& state_dir, const Clock& clock)
    : directory_(DirectoryOf(state_dir)), clock_(clock) {}

absl::StatusOr<IndexLease> IndexStore::Claim(const IndexKey& key, const Cancellation& cancellation,
                                             const Waiting& waiting) const {
  const std::string directory = absl::StrCat(directory_, "/", NameOf(key));
  for (int looks = 0; !cancellation.cancelled();) {
    RETURN_IF_ERROR(MakeDirectories(directory));
    auto build = OpenFile(directory + kBuildLock, O_RDWR | O_CREAT);
    if (absl::IsNotFound(build.status())) continue;  // The directory was removed a moment ago.
    RETURN_IF_ERROR(build.status());
    ASSIGN_OR_RETURN(const bool locked, TryLock(*build, Lock::kExclusive, directory));
    if (!locked) {
      if (looks++ % kLooksPerWord == 0) waiting(KeysListed(directory));
      absl::SleepFor(kLockPause);
      continue;
    }
    if (!IsTheFileAt(*build, directory + kBuildLock)) continue;
    return Hold(directory, *std::move(build));
  }
  return absl::CancelledError("interrupted");
}

// The caller has locked the directory for building.
absl::StatusOr<IndexLease> IndexStore::Hold(const std::string& directory, UniqueFd build) {
  ASSIGN_OR_RETURN(UniqueFd use, OpenFile(directory + kUseLock, O_RDWR | O_CREAT));
  ASSIGN_OR_RETURN(const bool used, TryLock(use, Lock::kShared, directory));
  if (!used)
    return absl::InternalError(absl::StrCat("somebody locks an index without building it: ", directory));
  RemoveDebris(directory);
  IndexLease lease(directory, std::move(build), std::move(use));
  lease.NoteKeys(0);  // Not what the builder before had listed.
  return lease;
}

bool IndexStore::Collect() const {
  bool complete = true;
  for (const std::string& name : NamesIn(directory_)) {
    complete &= CollectOne(absl::StrCat(directory_, "/", name), clock_.WallNow());
  }
  rmdir(directory_.c_str());  // Goes only when empty.
  return complete;
}

}  // namespace bucketvol
