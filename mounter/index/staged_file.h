#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// Opens a temporary file that never gets a name that stays: it is gone with its descriptor, even after
/// SIGKILL.
absl::StatusOr<UniqueFd> OpenUnnamedFile(const std::string& directory);

/// A file that is written without a name and gets one at the end, replacing what had that name.
///
/// Until PublishFiles nothing is visible (O_TMPFILE; on file systems without it a name ending in ".new",
/// which the destructor removes). A full disk is a ResourceExhausted error that names the directory. Not
/// thread-safe.
class StagedFile {
 public:
  static absl::StatusOr<StagedFile> Create(const std::string& directory, const std::string& name);
  StagedFile(StagedFile&&) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();

  absl::Status WriteAt(absl::string_view data, uint64_t offset);
  absl::Status ReadAt(absl::Span<char> out, uint64_t offset) const;
  /// Has the kernel start writing to the disk what lies below `end`, so that the sync at the end is short.
  /// `end` rises.
  void WriteBehind(uint64_t end);

 private:
  friend absl::Status PublishFiles(const std::string& directory, absl::Span<StagedFile* const> files);
  StagedFile(std::string directory, std::string name, UniqueFd fd, bool named);
  std::string NewPath() const;
  std::string FinalPath() const;
  absl::Status Explain(const absl::Status& status) const;
  absl::Status Sync();
  absl::Status GiveNewName();
  absl::Status Rename();

  std::string directory_;
  std::string name_;
  UniqueFd fd_;
  bool named_;           // Whether NewPath() exists.
  uint64_t behind_ = 0;  // Write-back was started up to here.
};

/// Makes files durable, then gives them their names in the given order, each by one rename, and syncs the
/// directory. A crash in between leaves a mixture: the files must carry a common id that readers check.
absl::Status PublishFiles(const std::string& directory, absl::Span<StagedFile* const> files);

}  // namespace bucketvol
