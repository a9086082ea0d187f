#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "mounter/prefetch/stall.h"

namespace bucketvol {

/// Consecutive objects in the order of the index.
struct OrdinalRange {
  uint64_t first = 0;
  uint64_t count = 0;
  friend bool operator==(const OrdinalRange&, const OrdinalRange&) = default;
};

struct FileSequenceSettings {
  uint64_t objects = 0;         // In the index. Nothing is planned behind the last.
  uint64_t first_ahead = 4;     // Fetched ahead of a reader when its order is recognised.
  uint64_t max_ahead = 512;     // Kept ahead of one reader at most,
  uint64_t total_ahead = 1024;  // and of all of them.
  int deciding_touches = 3;     // In order, from which on something is fetched ahead.
  uint64_t reordered = 0;       // How far readers that go together are expected to overtake each other.
};

/// Recognises readers that take small objects in the order of the index, and says which objects to fetch
/// ahead of them.
///
/// Keeps 256 cursors, so that many readers may walk one directory together or each its own. The third touch
/// in (nearly) ascending order makes a cursor fetch ahead; what it keeps ahead doubles, at most once per
/// round, while its readers find their objects still on their way. A cursor whose objects are not used
/// gets less (below one half), or nothing for a minute (below one fifth); it never has more out that nobody
/// used yet than it keeps ahead. Touches in random order make it fetch next to nothing.
///
/// Not thread-safe. Time is passed in and does not go back.
class FileSequence {
 public:
  explicit FileSequence(FileSequenceSettings settings);
  ~FileSequence();
  FileSequence(FileSequence&&) noexcept;
  FileSequence& operator=(FileSequence&&) noexcept;

  /// Takes a touch of a small object (its first read; a repetition does no harm) and how it found its bytes.
  /// Returns what to fetch, most urgent first; objects that are too large or already there are to be
  /// skipped.
  std::vector<OrdinalRange> OnOpen(uint64_t ordinal, Stall stall, absl::Duration now);

  /// Objects planned so far, and those of them that were touched since.
  uint64_t fetched() const;
  uint64_t used() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bucketvol
