#include "test/bench/load/expectation.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "test/bucketd/content.h"
#include "test/bucketd/synthetic_bucket.h"

namespace bucketvol::bench {
namespace {

constexpr size_t kPiece = 64 * 1024;  // Stays in the cache between making and comparing.

}  // namespace

std::optional<uint64_t> Expectation::SizeOf(absl::string_view key) const {
  if (!spec_.has_value()) return std::nullopt;
  return bucketd::DescribeSynthetic(*spec_, key).size;
}

bool Expectation::Holds(absl::string_view key, uint64_t offset, absl::Span<const char> data) {
  if (!spec_.has_value()) return true;
  scratch_.resize(kPiece);
  const uint64_t seed = bucketd::ObjectSeed(spec_->seed, key);
  for (size_t done = 0; done < data.size(); done += kPiece) {
    if (!PieceHolds(key, seed, offset + done, data.subspan(done, kPiece))) return false;
  }
  return true;
}

bool Expectation::PieceHolds(absl::string_view key, uint64_t seed, uint64_t offset,
                             absl::Span<const char> data) {
  bucketd::FillContent(seed, offset, scratch_.data(), data.size());
  if (std::memcmp(scratch_.data(), data.data(), data.size()) == 0) return true;
  const auto differs = std::mismatch(data.begin(), data.end(), scratch_.begin()).first;
  fprintf(stderr, "read_load: wrong byte at %llu of %.*s\n",
          static_cast<unsigned long long>(offset + static_cast<uint64_t>(differs - data.begin())),
          static_cast<int>(key.size()), key.data());
  return false;
}

}  // namespace bucketvol::bench
