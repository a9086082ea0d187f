#include "mounter/prefetch/stream_window.h"

#include <algorithm>

#include "mounter/prefetch/parts.h"

namespace bucketvol {

namespace {

constexpr absl::Duration kMeasured = absl::Milliseconds(100);  // One sample of consumption.
constexpr absl::Duration kUnread = absl::Seconds(2);           // Bytes need not lie ready for longer.
constexpr absl::Duration kShortestRound = absl::Milliseconds(1);
constexpr double kSmoothing = 0.5;
// A window of just what is in flight holds the stream at the rate that it has.
constexpr double kSpare = 1.5;
// The part that is read and the next, which does not quite fit, bring nothing.
constexpr uint64_t kPartsMore = 4;
constexpr uint64_t kPartsAlways = 5;  // Of the usual ones: so much may be tried before anything is known.

// How long a part is on its way, with some to spare; a slow one, too.
double SecondsOf(uint64_t part_bytes, const LinkEstimate& link) {
  const double transfer = static_cast<double>(part_bytes) / std::max(link.connection_bytes_per_second, 1.0);
  return std::max(kSpare * (absl::ToDoubleSeconds(link.first_byte_p50) + transfer),
                  absl::ToDoubleSeconds(link.first_byte_slow) + transfer);
}

}  // namespace

void StreamWindow::Open(uint64_t bytes, absl::Duration now) {
  bytes_ = bytes;
  grown_at_ = shrunk_at_ = stalled_at_ = interval_began_ = now;
  interval_bytes_ = 0;
  bytes_per_second_ = 0;
  samples_ = {};
}

void StreamWindow::Note(const Read& read, const LinkEstimate& link) {
  Measure(read);
  if (read.stall != Stall::kNone) stalled_at_ = read.now;
  Grow(read, link);
  Shrink(read);
  bytes_ = std::min(bytes_, std::max(read.limit, least_bytes_));
}

// Reads come in bursts, as parts complete: hence the smoothing.
void StreamWindow::Measure(const Read& read) {
  interval_bytes_ += read.advance;
  const absl::Duration time = read.now - interval_began_;
  if (time < kMeasured) return;
  const double sample = static_cast<double>(interval_bytes_) / absl::ToDoubleSeconds(time);
  bytes_per_second_ += kSmoothing * (sample - bytes_per_second_);
  std::rotate(samples_.begin(), samples_.begin() + 1, samples_.end());
  samples_.back() = sample;
  interval_began_ = read.now;
  interval_bytes_ = 0;
}

// What is in flight, at the stream's rate, while a part of the length that is in use waits for its first byte
// and comes.
uint64_t StreamWindow::Needed(const Read& read, const LinkEstimate& link) const {
  // Not that of a burst, in which a stream catches up with what lay ready.
  double rate = *std::min_element(samples_.begin(), samples_.end());
  if (link.bytes_per_second > 0) rate = std::min(rate, link.bytes_per_second);
  const uint64_t part = std::min(PartBytes(link, read.part_bytes, bytes_), read.part_bytes);
  return std::max(static_cast<uint64_t>(rate * SecondsOf(part, link)) + kPartsMore * part,
                  kPartsAlways * read.part_bytes);
}

void StreamWindow::Grow(const Read& read, const LinkEstimate& link) {
  // A larger window shows its effect after a round trip.
  if (read.now - grown_at_ < std::max(link.first_byte_p50, kShortestRound)) return;
  const bool too_small =
      bytes_per_second_ * absl::ToDoubleSeconds(link.first_byte_p95) > static_cast<double>(bytes_);
  if (read.stall == Stall::kNone && !too_small) return;
  bytes_ = std::max(bytes_, std::min(2 * bytes_, std::max(least_bytes_, Needed(read, link))));
  grown_at_ = read.now;
}

void StreamWindow::Shrink(const Read& read) {
  if (read.now - std::max(stalled_at_, shrunk_at_) < kUnread) return;
  const double readable = bytes_per_second_ * absl::ToDoubleSeconds(kUnread);
  if (static_cast<double>(read.unread) <= readable || bytes_ <= least_bytes_) return;
  bytes_ = std::max(least_bytes_, bytes_ - std::min(bytes_, read.part_bytes));
  shrunk_at_ = read.now;
}

}  // namespace bucketvol
