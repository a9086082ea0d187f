#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mounter/base/byte_range.h"
#include "mounter/prefetch/link_estimate.h"
#include "mounter/prefetch/stall.h"

namespace bucketvol {

struct StreamSettings {
  enum class Ahead { kOff, kOn };
  Ahead ahead = Ahead::kOn;               // kOff: reads are widened to whole small objects and nothing else.
  uint64_t whole_object_bytes = 8 << 20;  // Objects up to this size are fetched whole at the first touch.
  uint64_t window_start = 4 << 20;        // Kept ahead of a stream at first.
  uint64_t part_max = 32 << 20;           // Longest range of a plan; a power of two, at least 1 MiB.
  uint64_t readahead_bytes = 1 << 20;     // Of the kernel: how far reads of one stream overtake each other.
  int max_streams = 32;                   // Per object.
};

/// Bytes that may be kept ahead of readers.
struct WindowLimit {
  WindowLimit(uint64_t of_stream, uint64_t of_object) : stream(of_stream), object(of_object) {}
  /// An object with one stream.
  WindowLimit(uint64_t limit) : WindowLimit(limit, limit) {}  // NOLINT(google-explicit-constructor)

  uint64_t stream;  // By one stream, its share of the memory; below 1 MiB nothing is fetched ahead of it.
  uint64_t object;  // By all that readers of this object want together.
};

/// What to do about one read.
struct Plan {
  ByteRange demand;              // The read, widened to what one request should bring. Within the object.
  std::vector<ByteRange> ahead;  // To be fetched with nobody waiting, most urgent first. Parts that are there
                                 // or on their way already are to be skipped.
  bool new_stream = false;       // The read made a stream of a candidate, or began one.
};

/// Recognises the streams of reads in one object, however many readers interleave, and says what to fetch
/// ahead of each.
///
/// A read joins the stream whose expected position is nearest, up to a few MiB away: requests overtake each
/// other, and a page fault is read around. Reads that fit nowhere begin a candidate, which becomes a stream
/// when reads go on behind it for more than 1 MiB (at the beginning of the object: at once). Each stream has
/// a window: how far it is fetched ahead. It doubles, at most once per round trip, while readers stall, up to
/// what the link needs and the caller allows; it shrinks when bytes are fetched long before they are read;
/// and is gone after 9 s without a read. Descending reads turn a stream round; reads at equal distances
/// have their next places fetched. Readers that take long pieces of the object in any order have the whole
/// of it fetched, as much at a time as the limit of the object allows, and nothing of it twice.
///
/// Only advice: it neither fetches nor knows what is there. Not thread-safe: guarded by the lock of its
/// object. Time is passed in, from any fixed origin, and does not go back.
class StreamTable {
 public:
  StreamTable(uint64_t object_size, const StreamSettings& settings);
  ~StreamTable();
  StreamTable(StreamTable&&) noexcept;
  StreamTable& operator=(StreamTable&&) noexcept;

  /// Takes a read (not empty, within the object) and how it found its bytes.
  Plan Note(ByteRange read, Stall stall, const LinkEstimate& link, const WindowLimit& limit,
            absl::Duration now);

  /// Says where the parts of the object begin that are read as a whole (tensors, for example): ascending. A
  /// stream fetches such a part at once and is not taken across its end until reads go there.
  void SetBoundaries(std::vector<uint64_t> offsets);

  /// Takes the windows of streams that nobody follows any more: silent for 9 s, or for 1 s while others in
  /// this object went on. Returns what was planned for them and nobody will read.
  std::vector<ByteRange> Abandoned(absl::Duration now);

  /// Bytes planned ahead of the readers.
  uint64_t ScheduledAhead() const;
  /// Streams with a window.
  int active_streams() const;
  /// Streams begun so far.
  uint64_t streams_begun() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bucketvol
