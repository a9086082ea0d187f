#pragma once

#include <cstdint>
#include <vector>

#include "mounter/base/byte_range.h"
#include "mounter/prefetch/link_estimate.h"

namespace bucketvol {

inline constexpr uint64_t kMinPartBytes = 1 << 20;
inline constexpr uint64_t kPartsPerWindow = 20;

/// How long one GET of a stream should be: what a connection brings in 160 ms, but not more than makes the
/// wait for the first byte small beside it. A power of two from 1 MiB to `part_max`.
uint64_t PartBytes(const LinkEstimate& link, uint64_t part_max);

/// The same for a stream with that window: short enough that kPartsPerWindow of them are in
/// flight, because one connection alone is slow.
uint64_t PartBytes(const LinkEstimate& link, uint64_t part_max, uint64_t window);

/// How long each GET should be for `bytes` that a reader waits for, while the link has nothing else to do: as
/// many at once, up to four, as each doubling saves a tenth of the time. One, before the link was measured.
uint64_t PieceBytes(const LinkEstimate& link, uint64_t bytes);

/// Of how many bytes that are there already, in the middle of what a reader waits for, one GET brings a
/// second copy rather than that two be made: those that a connection brings while a request waits for its
/// first byte, and half a MiB at least.
uint64_t GapBytes(const LinkEstimate& link);

/// What ends a range that is cut into parts.
enum class RangeEnd {
  kOpen,   // More will follow: only whole parts are cut.
  kFixed,  // Nothing will follow: the rest becomes a short part.
};

/// Cuts `range` of an object into parts that end at multiples of `part_bytes`, and appends them to `parts`.
/// The last ones before the end of the object are shorter, so that they end together. Returns the end of what
/// was cut.
uint64_t CutIntoParts(ByteRange range, RangeEnd end, uint64_t part_bytes, uint64_t object_size,
                      std::vector<ByteRange>& parts);

}  // namespace bucketvol
