#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// A stack of bytes whose lower part moves to an unnamed file when it outgrows its memory.
///
/// The entries of the open directories live here: the innermost on top, so that one buffer serves any depth
/// and each directory's entries are one range. Memory use is `memory_bytes` plus one push. Not thread-safe.
class SpillStack {
 public:
  SpillStack(std::string directory, size_t memory_bytes);

  uint64_t size() const { return spilled_ + used_; }
  absl::Status Push(absl::string_view a, absl::string_view b);
  /// Drops what lies above `size`.
  void Truncate(uint64_t size);

  /// Reads a range from its beginning. The stack must not change meanwhile.
  class Reader {
   public:
    Reader(const SpillStack& stack, uint64_t begin, uint64_t end) : stack_(stack), next_(begin), end_(end) {}
    /// At least `bytes` bytes ahead, unless the range ends earlier. The view is valid until the next call.
    absl::Status Peek(size_t bytes, absl::string_view& ahead);
    void Skip(size_t bytes) { window_.remove_prefix(bytes); }

   private:
    const SpillStack& stack_;
    uint64_t next_;  // End of the window.
    uint64_t end_;
    absl::string_view window_;
    std::string buffer_;
  };

 private:
  absl::Status Spill();
  absl::Status Read(uint64_t offset, absl::Span<char> out) const;

  const std::string directory_;
  const size_t capacity_;
  std::unique_ptr<char[]> memory_;  // [spilled_, spilled_ + used_)
  size_t used_ = 0;
  uint64_t spilled_ = 0;  // [0, spilled_) is in the file.
  UniqueFd file_;
};

}  // namespace bucketvol
