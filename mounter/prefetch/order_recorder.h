#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace bucketvol {

/// Records the order in which objects are touched first in an epoch.
///
/// An epoch is over when most of the last 64 touches were of objects that it has already: readers have begun
/// anew. Keeps one bit for each object of the index, not the order itself. Not thread-safe.
class OrderRecorder {
 public:
  /// Indexes with more objects are not recorded: the bits alone would take 8 MiB.
  static constexpr uint64_t kMostObjects = uint64_t{64} << 20;

  /// `objects` in the index, at most kMostObjects. Of a longer epoch the first `most` are recorded.
  OrderRecorder(uint64_t objects, uint64_t most);

  struct Step {
    bool new_epoch = false;            // The touch belongs to a new epoch, and so does all of `added`.
    std::vector<uint32_t> added = {};  // What the order of the epoch goes on with.
  };
  /// Takes a touch. Ordinals that the index does not have are ignored.
  Step Add(uint32_t ordinal);
  /// Takes what an earlier recorder recorded of the epoch.
  void Resume(absl::Span<const uint32_t> ordinals);

  /// Objects recorded of this epoch.
  uint64_t count() const { return count_; }

 private:
  static constexpr size_t kRemembered = 64;
  static constexpr int kRepeatedAtEnd = 48;

  bool Mark(uint32_t ordinal);
  Step BeginEpoch();

  const uint64_t most_;
  std::vector<bool> touched_;
  uint64_t count_ = 0;
  uint64_t repeats_ = 0;  // One bit for each touch, the last one lowest: whether it was a repetition.
  std::array<uint32_t, kRemembered> recent_{};
  uint64_t touches_ = 0;
};

/// What decides between two recordings.
struct RecordedEpoch {
  uint64_t objects = 0;
  uint64_t followed = 0;     // Of its touches, while the kept recording was followed.
  bool of_this_run = false;  // Recorded since the mount, not by an earlier one.
};

/// Whether a recording that is being made shall take the place of the one that is kept.
///
/// A new one that shows the same order counts if it has more objects: an epoch of which the kernel's page
/// cache kept a part from us, a job that broke off, or one that began in the middle has fewer. One that shows
/// another order counts if it has three quarters as many. Of the epochs of one run the first is worth most,
/// because the next run begins with it: a later one takes its place only if it has more objects.
bool TakesPlaceOf(const RecordedEpoch& made, const RecordedEpoch& kept);

}  // namespace bucketvol
