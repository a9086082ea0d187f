#include "mounter/prefetch/parts.h"

#include <algorithm>
#include <bit>

namespace bucketvol {

namespace {

constexpr absl::Duration kPartTime = absl::Milliseconds(160);
constexpr double kFirstBytesPerPart = 4.5;  // A part takes this many times the wait for its first byte.
constexpr uint64_t kMostPieces = 4;
constexpr double kWorthAPiece = 0.9;
constexpr uint64_t kUsualPartBytes = 8 << 20;
constexpr uint64_t kLeastGap = 512 << 10;

uint64_t BytesIn(double bytes_per_second, absl::Duration time) {
  return static_cast<uint64_t>(bytes_per_second * absl::ToDoubleSeconds(time));
}

// Parts get shorter when less than eight of them are left.
uint64_t TailPart(uint64_t part_bytes, uint64_t left) {
  while (part_bytes > kMinPartBytes && left < 8 * part_bytes) part_bytes /= 2;
  return part_bytes;
}

}  // namespace

uint64_t PartBytes(const LinkEstimate& link, uint64_t part_max) {
  const uint64_t long_enough =
      BytesIn(link.connection_bytes_per_second, link.first_byte_p50 * kFirstBytesPerPart);
  const uint64_t part =
      std::min(BytesIn(link.connection_bytes_per_second, kPartTime), std::max(long_enough, kUsualPartBytes));
  // To the power of two that is nearest, roughly.
  return std::clamp(std::bit_floor(part / 3 * 4 + 1), kMinPartBytes, std::max(part_max, kMinPartBytes));
}

uint64_t PartBytes(const LinkEstimate& link, uint64_t part_max, uint64_t window) {
  const uint64_t share = std::max(std::bit_floor(window / kPartsPerWindow), kMinPartBytes);
  return std::min(PartBytes(link, part_max), share);
}

uint64_t PieceBytes(const LinkEstimate& link, uint64_t bytes) {
  const double wait = absl::ToDoubleSeconds(link.first_byte_p50);
  const double transfer = static_cast<double>(bytes) / std::max(link.connection_bytes_per_second, 1.0);
  uint64_t pieces = 1;
  while (link.measured && pieces < kMostPieces) {
    const double now = wait + transfer / static_cast<double>(pieces);
    if (wait + transfer / static_cast<double>(2 * pieces) > kWorthAPiece * now) break;
    pieces *= 2;
  }
  return (bytes + pieces - 1) / pieces;
}

uint64_t GapBytes(const LinkEstimate& link) {
  return std::max(kLeastGap, BytesIn(link.connection_bytes_per_second, link.first_byte_p50));
}

uint64_t CutIntoParts(ByteRange range, RangeEnd end, uint64_t part_bytes, uint64_t object_size,
                      std::vector<ByteRange>& parts) {
  uint64_t position = range.begin;
  while (position < range.end) {
    const uint64_t part = TailPart(part_bytes, object_size - position);
    uint64_t next = position - position % part + part;
    if (next - position < part / 2) next += part;
    if (next > range.end && end == RangeEnd::kOpen) break;
    next = std::min(next, range.end);
    parts.push_back({position, next});
    position = next;
  }
  return position;
}

}  // namespace bucketvol
