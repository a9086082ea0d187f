#pragma once

#include <cstdint>
#include <vector>

#include "test/prefetch/simulated_core.h"

namespace bucketvol {

inline constexpr uint64_t kKiB = 1 << 10;
inline constexpr uint64_t kMiB = 1 << 20;
inline constexpr uint64_t kGiB = 1 << 30;

/// Reads `range` of an object in order, `length` bytes at a time.
std::vector<TraceRead> InOrder(size_t object, ByteRange range, uint64_t length);

/// The pieces of [0, size), each `piece` bytes, in an order that `seed` fixes.
std::vector<ByteRange> Shuffled(uint64_t size, uint64_t piece, unsigned seed);

/// A page fault in a mapping is read around: the kernel's requests begin up to half a read-ahead before the
/// page. Touches the pages of `range` in order.
std::vector<TraceRead> MappedInOrder(size_t object, ByteRange range, uint64_t readahead,
                                     uint64_t object_size);

/// Touches the pages of pieces in order. What was read around before is in the page cache and asked for no
/// more.
std::vector<TraceRead> MappedPieces(size_t object, const std::vector<ByteRange>& pieces, uint64_t readahead,
                                    uint64_t object_size);

/// The requests of concurrent workers arrive out of order: swaps reads within groups of `group`.
std::vector<TraceRead> Reordered(std::vector<TraceRead> reads, size_t group, unsigned seed);

template <typename T>
void Append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace bucketvol
