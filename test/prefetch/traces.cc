#include "test/prefetch/traces.h"

#include <algorithm>
#include <random>

namespace bucketvol {

std::vector<TraceRead> InOrder(size_t object, ByteRange range, uint64_t length) {
  std::vector<TraceRead> reads;
  for (uint64_t begin = range.begin; begin < range.end; begin += length)
    reads.push_back({object, {begin, std::min(range.end, begin + length)}});
  return reads;
}

std::vector<ByteRange> Shuffled(uint64_t size, uint64_t piece, unsigned seed) {
  std::vector<ByteRange> pieces;
  for (uint64_t begin = 0; begin < size; begin += piece)
    pieces.push_back({begin, std::min(size, begin + piece)});
  std::mt19937 random(seed);
  for (size_t i = pieces.size(); i > 1; --i) std::swap(pieces[i - 1], pieces[random() % i]);
  return pieces;
}

std::vector<TraceRead> MappedInOrder(size_t object, ByteRange range, uint64_t readahead,
                                     uint64_t object_size) {
  const uint64_t begin = range.begin - std::min(range.begin, readahead / 2);
  return InOrder(object, {begin, std::min(object_size, range.end + readahead / 2)}, readahead);
}

std::vector<TraceRead> MappedPieces(size_t object, const std::vector<ByteRange>& pieces, uint64_t readahead,
                                    uint64_t object_size) {
  std::vector<TraceRead> reads;
  std::vector<bool> cached(object_size / readahead + 1);
  for (const ByteRange& piece : pieces) {
    for (uint64_t i = piece.begin / readahead; i * readahead < piece.end; ++i) {
      if (cached[i]) continue;
      cached[i] = true;
      reads.push_back({object, {i * readahead, std::min(object_size, (i + 1) * readahead)}});
    }
  }
  return reads;
}

std::vector<TraceRead> Reordered(std::vector<TraceRead> reads, size_t group, unsigned seed) {
  std::mt19937 random(seed);
  for (size_t first = 0; first < reads.size(); first += group) {
    const size_t count = std::min(group, reads.size() - first);
    for (size_t i = count; i > 1; --i) std::swap(reads[first + i - 1], reads[first + random() % i]);
  }
  return reads;
}

}  // namespace bucketvol
