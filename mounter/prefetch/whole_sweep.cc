#include "mounter/prefetch/whole_sweep.h"

#include <algorithm>

#include "mounter/prefetch/parts.h"

namespace bucketvol {

namespace {

constexpr uint64_t kPartsInFlight = 8;     // Beyond what the link holds at its present rate.
constexpr double kLeastRate = 20e6;        // Bytes per second, before anything was measured.
constexpr uint64_t kReadAgain = 16 << 20;  // From here on somebody reads the object once more.

}  // namespace

void WholeSweep::Set(uint64_t chunk, State state) {
  if (states_.empty()) states_.resize(Chunks(), State::kUntouched);
  if (states_[chunk] == State::kPlanned) --unread_chunks_;
  if (state == State::kPlanned) ++unread_chunks_;
  if (state == State::kUntouched) position_ = std::min(position_, chunk);
  states_[chunk] = state;
}

void WholeSweep::StartAgain() {
  for (uint64_t chunk = 0; chunk < Chunks(); ++chunk) {
    if (At(chunk) == State::kRead) Set(chunk, State::kUntouched);
  }
  again_ = 0;
}

void WholeSweep::OnRead(ByteRange range, bool absent) {
  uint64_t again = 0;
  for (uint64_t chunk = range.begin / kChunk; chunk < EndOf(range); ++chunk) {
    if (At(chunk) == State::kRead) again += kChunk;
    Set(chunk, State::kRead);
  }
  if (absent && again >= range.size()) again_ += again;
  if (again_ >= kReadAgain) StartAgain();
}

void WholeSweep::OnPlanned(ByteRange range) {
  for (uint64_t chunk = range.begin / kChunk; chunk < EndOf(range); ++chunk) {
    if (At(chunk) == State::kUntouched) Set(chunk, State::kPlanned);
  }
}

// The first chunks behind the position that nobody has read or planned; empty at the end of the object.
ByteRange WholeSweep::NextGap() const {
  uint64_t begin = position_;
  while (begin < Chunks() && At(begin) != State::kUntouched) ++begin;
  uint64_t end = begin;
  while (end < Chunks() && At(end) == State::kUntouched) ++end;
  return {std::min(size_, begin * kChunk), std::min(size_, end * kChunk)};
}

void WholeSweep::Plan(const LinkEstimate& link, uint64_t part_max, uint64_t limit, absl::Duration now,
                      std::vector<ByteRange>& ahead) {
  const double rate = std::max(link.bytes_per_second, kLeastRate);
  const uint64_t part = PartBytes(link, part_max);
  const double part_seconds = absl::ToDoubleSeconds(link.first_byte_p99) +
                              static_cast<double>(part) / std::max(link.connection_bytes_per_second, 1.0);
  if (in_flight_ > 0)
    in_flight_ -=
        std::min(in_flight_, static_cast<uint64_t>(rate * absl::ToDoubleSeconds(now - planned_at_)));
  planned_at_ = now;
  const uint64_t link_room = static_cast<uint64_t>(rate * part_seconds) + kPartsInFlight * part;
  while (in_flight_ < link_room && unread_bytes() + part <= limit) {
    const ByteRange gap = NextGap();
    position_ = gap.begin / kChunk;
    if (gap.empty()) return;
    const uint64_t room = std::max(part, std::min(link_room - in_flight_, limit - unread_bytes()));
    const uint64_t end = std::min(gap.end, gap.begin + room / kChunk * kChunk);
    const uint64_t cut = CutIntoParts({gap.begin, end}, RangeEnd::kFixed, part, size_, ahead);
    OnPlanned({gap.begin, cut});
    in_flight_ += cut - gap.begin;
  }
}

std::vector<ByteRange> WholeSweep::Unread(const std::vector<ByteRange>& ranges) const {
  std::vector<ByteRange> unread;
  for (const ByteRange& range : ranges) {
    bool going_on = false;
    for (uint64_t begin = range.begin; begin < range.end;) {
      const uint64_t end = std::min(range.end, (begin / kChunk + 1) * kChunk);
      const bool wanted = At(begin / kChunk) != State::kRead;
      if (wanted && going_on) unread.back().end = end;
      if (wanted && !going_on) unread.push_back({begin, end});
      going_on = wanted;
      begin = end;
    }
  }
  return unread;
}

uint64_t WholeSweep::UnreadEnd(ByteRange range, uint64_t least) const {
  for (uint64_t chunk = (least + kChunk - 1) / kChunk; chunk < EndOf(range); ++chunk) {
    if (At(chunk) == State::kRead) return std::max(least, chunk * kChunk);
  }
  return range.end;
}

std::vector<ByteRange> WholeSweep::Abandon() {
  std::vector<ByteRange> given_up;
  for (uint64_t chunk = 0; unread_chunks_ > 0; ++chunk) {
    if (At(chunk) != State::kPlanned) continue;
    Set(chunk, State::kUntouched);
    const ByteRange range{chunk * kChunk, std::min(size_, (chunk + 1) * kChunk)};
    if (!given_up.empty() && given_up.back().end == range.begin) {
      given_up.back().end = range.end;
    } else {
      given_up.push_back(range);
    }
  }
  in_flight_ = 0;
  return given_up;
}

void WholeSweep::Replan(ByteRange range) {
  in_flight_ -= std::min(in_flight_, range.size());
  for (uint64_t chunk = range.begin / kChunk; chunk < EndOf(range); ++chunk) {
    if (At(chunk) == State::kPlanned) Set(chunk, State::kUntouched);
  }
}

}  // namespace bucketvol
