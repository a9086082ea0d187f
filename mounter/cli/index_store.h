#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/base/unique_fd.h"
#include "mounter/index/index_file.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// What an index on disk was made from, and for whom: another key is another index.
struct IndexKey {
  std::string source;
  std::string endpoint;
  std::string options;  // Those that change what is seen.
  std::string
      identity;  // Whose credentials listed it: nobody sees a listing made with the rights of another.
};

/// A claim on the directory of one index.
///
/// While it lives the index is not collected. Until ReleaseBuild nobody else may build it. Files are replaced
/// by rename only, so that mounts of an older build go on undisturbed. The destructor removes a directory in
/// which nothing was built.
class IndexLease {
 public:
  IndexLease(IndexLease&&) = default;
  IndexLease& operator=(IndexLease&&) = delete;
  ~IndexLease();

  /// Joins the claim of another process: `use_lock` is that of its claim, which both share.
  static IndexLease Join(std::string directory, UniqueFd use_lock);

  const std::string& directory() const { return directory_; }
  /// Tells those who wait to build this index how far it is. Callable by any thread.
  void NoteKeys(uint64_t keys) const;
  /// For Join in another process. The index is not collected as long as any process has it open.
  const UniqueFd& use_lock() const { return use_lock_; }
  /// Held by whoever has it open, in any process.
  const UniqueFd& build_lock() const { return build_lock_; }
  /// Lets others build, unless somebody else has the lock open. Names may lead to other files from then on:
  /// this claim's must be open by now.
  void ReleaseBuild() { build_lock_.Reset(); }
  /// Has the index kept until `time` after its last user is gone.
  absl::Status KeepUntil(absl::Time time) const;

 private:
  friend class IndexStore;
  IndexLease(std::string directory, UniqueFd build_lock, UniqueFd use_lock);

  std::string directory_;
  UniqueFd build_lock_;
  UniqueFd use_lock_;  // Invalid once moved from.
};

/// The indexes of a state directory:
/// STATE_DIR/index/HASH/{manifest,meta.erofs,objects,hints,order,build.lock,use.lock}.
///
/// An index is removed when no mount uses it and its time is over: a day after its last mount, or the
/// index_max_age of that mount where this is longer. Unfinished ones are removed as soon as nobody builds
/// them. Processes of one machine share the directory; locks (flock) say who builds and who uses. In
/// build.lock stands how many keys its holder has listed, in use.lock how long to keep the index (seconds
/// since 1970), both as decimal text.
class IndexStore {
 public:
  static constexpr absl::Duration kKeep = absl::Hours(24);

  IndexStore(const std::string& state_dir, const Clock& clock);

  /// Where all indexes lie.
  static std::string DirectoryOf(const std::string& state_dir) { return state_dir + "/index"; }

  /// Called now and then by a Claim that waits: how many keys the other process has listed, as far as is
  /// known.
  using Waiting = std::function<void(uint64_t keys)>;
  /// Claims the directory of an index; waits while another process builds it. Cancelled by `cancellation`.
  absl::StatusOr<IndexLease> Claim(
      const IndexKey& key, const Cancellation& cancellation, const Waiting& waiting = [](uint64_t) {}) const;
  /// Removes what nobody uses and whose time is over, and what killed builders left. False: some index is
  /// being built, and was not looked at.
  bool Collect() const;

 private:
  static absl::StatusOr<IndexLease> Hold(const std::string& directory, UniqueFd build);

  std::string directory_;
  const Clock& clock_;
};

}  // namespace bucketvol
