#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// Sorts packed directory entries by name, in bounded memory: sorted runs go to an unnamed file and are
/// merged.
///
/// Use: Start, Add each, then Next until nullptr. Not thread-safe.
class EntrySorter {
 public:
  EntrySorter(std::string directory, size_t memory_bytes);
  ~EntrySorter();

  void Start();
  absl::Status Add(absl::string_view packed);
  /// Ends adding.
  absl::Status Sort();
  /// The next packed entry in order of names, or nullptr at the end. Valid until the next call.
  absl::Status Next(const char*& packed);

 private:
  class Run;
  struct Later {
    bool operator()(const Run* a, const Run* b) const;
  };

  void SortMemory();
  absl::Status SpillRun();
  absl::Status OpenRuns();
  absl::Status NextOfRuns(const char*& packed);

  const std::string directory_;
  const size_t capacity_;
  std::string memory_;             // Packed entries, one after the other.
  std::vector<uint32_t> offsets_;  // Where they begin.
  size_t next_ = 0;                // In offsets_.

  UniqueFd file_;
  std::vector<uint64_t> run_ends_;  // In the file.
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Run*> heap_;
  Run* given_ = nullptr;  // Its head was the last result.
};

}  // namespace bucketvol
