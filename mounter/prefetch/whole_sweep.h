#pragma once

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "mounter/base/byte_range.h"
#include "mounter/prefetch/link_estimate.h"

namespace bucketvol {

/// Fetches the whole of an object front to back, for readers that want all of it in an order nobody can
/// guess. Gives out what the link takes, and no more than may lie unread. What was read once is left out: the
/// kernel keeps it, and whoever reads long pieces of an object rarely comes back.
///
/// Thread-compatible. Remembers a byte for each 64 KiB of the object, from the first call of a method that
/// takes a range.
class WholeSweep {
 public:
  static constexpr uint64_t kChunk = 64 << 10;

  explicit WholeSweep(uint64_t object_size) : size_(object_size) {}

  /// Somebody reads this. `absent`: it was not there when asked for. Where much is read again that is not
  /// there, everything counts as unread from then on.
  void OnRead(ByteRange range, bool absent);
  /// This is fetched ahead for other reasons.
  void OnPlanned(ByteRange range);

  /// The next parts, if the link is ready for them; of all that was planned `limit` bytes may lie unread.
  void Plan(const LinkEstimate& link, uint64_t part_max, uint64_t limit, absl::Duration now,
            std::vector<ByteRange>& ahead);
  /// What of `ranges` was not read yet.
  std::vector<ByteRange> Unread(const std::vector<ByteRange>& ranges) const;
  /// The end of the longest beginning of `range` that was not read yet, `least` at least.
  uint64_t UnreadEnd(ByteRange range, uint64_t least) const;

  /// Gives up what was planned and not read: returns it.
  std::vector<ByteRange> Abandon();
  /// Plans `range` again, as far as it was planned and not read.
  void Replan(ByteRange range);

  /// Whether anything was noted.
  bool started() const { return !states_.empty(); }
  /// Planned and not read.
  uint64_t unread_bytes() const { return unread_chunks_ * kChunk; }

 private:
  enum class State : uint8_t { kUntouched, kPlanned, kRead };

  uint64_t Chunks() const { return (size_ + kChunk - 1) / kChunk; }
  static uint64_t EndOf(ByteRange range) { return (range.end + kChunk - 1) / kChunk; }
  State At(uint64_t chunk) const { return states_.empty() ? State::kUntouched : states_[chunk]; }
  void Set(uint64_t chunk, State state);
  ByteRange NextGap() const;
  void StartAgain();

  uint64_t size_;
  std::vector<State> states_;  // By chunk; empty: all untouched.
  uint64_t unread_chunks_ = 0;
  uint64_t position_ = 0;   // A chunk; those before it are not untouched.
  uint64_t again_ = 0;      // Bytes that were read again and were not there.
  uint64_t in_flight_ = 0;  // Planned by Plan() and not there, by estimate.
  absl::Duration planned_at_;
};

}  // namespace bucketvol
