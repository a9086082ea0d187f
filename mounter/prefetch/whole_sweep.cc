#include "mounter/prefetch/whole_sweep.h"

#include <algorithm>

#include "mounter/prefetch/parts.h"

namespace bucketvol {

namespace {

constexpr uint64_t kPartsInFlight = 8;  // Beyond what the link holds at its present rate.
constexpr double kLeastRate = 20e6;     // Bytes per second, before anything was measured.

}  // namespace

void WholeSweep::Plan(const LinkEstimate& link, uint64_t part_max, absl::Duration now,
                      std::vector<ByteRange>& ahead) {
  const double rate = std::max(link.bytes_per_second, kLeastRate);
  const uint64_t part = PartBytes(link, part_max);
  const double part_seconds = absl::ToDoubleSeconds(link.first_byte_p99) +
                              static_cast<double>(part) / std::max(link.connection_bytes_per_second, 1.0);
  if (running_) {
    const auto arrived = static_cast<uint64_t>(rate * absl::ToDoubleSeconds(now - planned_at_));
    in_flight_ -= std::min(in_flight_, arrived);
  }
  running_ = true;
  planned_at_ = now;
  const uint64_t room = static_cast<uint64_t>(rate * part_seconds) + kPartsInFlight * part;
  if (in_flight_ >= room) return;
  const uint64_t end = std::min(size_, position_ + room - in_flight_);
  const uint64_t begin = position_;
  position_ =
      CutIntoParts({begin, end}, end == size_ ? RangeEnd::kFixed : RangeEnd::kOpen, part, size_, ahead);
  in_flight_ += position_ - begin;
}

ByteRange WholeSweep::Pause() {
  const ByteRange rest{position_ - std::min(position_, in_flight_), position_};
  running_ = false;
  position_ = rest.begin;
  in_flight_ = 0;
  return rest;
}

void WholeSweep::Replan(uint64_t offset) {
  if (offset >= position_) return;
  in_flight_ -= std::min(in_flight_, position_ - offset);
  position_ = offset;
}

}  // namespace bucketvol
