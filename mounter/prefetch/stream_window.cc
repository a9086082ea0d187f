#include "mounter/prefetch/stream_window.h"

#include <algorithm>

namespace bucketvol {

namespace {

constexpr absl::Duration kMeasured = absl::Milliseconds(100);  // One sample of consumption.
constexpr absl::Duration kUnread = absl::Seconds(2);           // Bytes need not lie ready for longer.
constexpr absl::Duration kShortestRound = absl::Milliseconds(1);
constexpr double kSmoothing = 0.5;

}  // namespace

void StreamWindow::Open(uint64_t bytes, absl::Duration now) {
  bytes_ = bytes;
  grown_at_ = shrunk_at_ = stalled_at_ = interval_began_ = now;
  interval_bytes_ = 0;
  bytes_per_second_ = 0;
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
  interval_began_ = read.now;
  interval_bytes_ = 0;
}

// What keeps the stream going at its rate: in flight during a round trip and the time a part takes, with some
// to spare. More than it uses now, so that it can grow.
uint64_t StreamWindow::Needed(const Read& read, const LinkEstimate& link) const {
  const double part = static_cast<double>(read.part_bytes);
  const double seconds =
      2 * absl::ToDoubleSeconds(link.first_byte_p99) + part / std::max(link.connection_bytes_per_second, 1.0);
  // Not faster than the link: in a burst a stream catches up with what lay ready.
  const double rate =
      link.bytes_per_second > 0 ? std::min(bytes_per_second_, link.bytes_per_second) : bytes_per_second_;
  return static_cast<uint64_t>(rate * seconds) + 4 * read.part_bytes;
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
