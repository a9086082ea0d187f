#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "mounter/base/byte_range.h"
#include "mounter/prefetch/link_estimate.h"
#include "mounter/prefetch/stall.h"
#include "mounter/prefetch/stream_table.h"
#include "mounter/prefetch/stream_window.h"

namespace bucketvol {

/// One read as the streams see it.
struct StreamRead {
  ByteRange range;
  Stall stall;
  const LinkEstimate& link;
  uint64_t window_limit;
  absl::Duration now;
  int streams = 1;  // Active in this object.
  int sharing = 1;  // Active in all objects, as far as known.
  /// Where the next run ahead begins, which another reader has just read: whoever comes there rarely goes on.
  uint64_t next_run = UINT64_MAX;
};

/// One ascending reader of an object, or a candidate to be one. A descending reader is an ascending one in a
/// mirror. Thread-compatible.
class Stream {
 public:
  /// Begins with a read that fits no other stream. `size`: of the object; `part_end`: where the part of it
  /// ends that holds the read and is read as a whole, if there are such parts. Borrows `settings`.
  Stream(const StreamSettings& settings, uint64_t size, std::optional<uint64_t> part_end,
         const StreamRead& read);

  /// How far a read is from what was expected; nullopt when it is not this stream's.
  std::optional<uint64_t> Distance(ByteRange read) const;

  /// Takes a read that belongs here (the first one, too) and adds to the plan.
  void Note(const StreamRead& read, Plan& plan);

  /// Makes a candidate a stream.
  void Promote(uint64_t window, absl::Duration now);
  /// Takes the window back; returns what was planned and not read.
  ByteRange Abandon();

  bool promoted() const { return promoted_; }
  bool active() const { return window_.open(); }
  uint64_t begin() const { return begin_; }
  uint64_t expected() const { return expected_; }
  uint64_t run() const { return expected_ - begin_; }
  uint64_t ahead() const { return active() && planned_ > expected_ ? planned_ - expected_ : 0; }
  absl::Duration last_use() const { return last_use_; }
  /// Reads one after another, each below the one before and below all that was read.
  int descents() const { return descents_; }

 private:
  void Advance(const StreamRead& read);
  void PlanDemand(const StreamRead& read, Plan& plan);
  void PlanAhead(const StreamRead& read, Plan& plan);
  void OpenWindow(bool went_on, const StreamRead& read, Plan& plan);
  void NoteWindow(const StreamRead& read, uint64_t advance);
  uint64_t DemandEnd(ByteRange read) const;
  uint64_t CandidateEnd(ByteRange read) const;
  bool Lost(const StreamRead& read) const;

  const StreamSettings* settings_;
  uint64_t size_;
  std::optional<uint64_t> part_end_;  // No window crosses it until reads do.
  uint64_t begin_;                    // Of the run: what was read without a gap.
  uint64_t expected_;                 // End of the run.
  uint64_t planned_;                  // What lies before was asked for.
  StreamWindow window_;
  absl::Duration last_use_;
  int reads_ = 0;
  uint64_t bytes_ = 0;  // Of all reads.
  int descents_ = 0;
  bool promoted_ = false;
};

}  // namespace bucketvol
