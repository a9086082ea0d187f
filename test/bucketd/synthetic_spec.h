#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bucketvol::bucketd {

/// How the keys of a synthetic bucket spread over directories.
enum class Shape {
  kEven,    // Numbered directories of per-dir names each.
  kFlat,    // Every name at the root.
  kSkewed,  // 95 % of the keys in the one directory `data/`, the rest even, before and after it.
  kDeep,    // A tree of directories eight levels deep; inner directories hold names too.
};

/// What a synthetic bucket is: `NAME:keys=10000000,per-dir=1000,size=100KB,name-bytes=40,shape=even,seed=1`.
struct SyntheticSpec {
  std::string name;
  uint64_t keys = 1000;
  uint64_t per_dir = 1000;
  uint64_t min_size = 100'000;  // `size=20KB..200KB` spreads the sizes evenly between both, inclusive.
  uint64_t max_size = 100'000;
  unsigned name_bytes = 40;  // Length of the last path segment.
  Shape shape = Shape::kEven;
  uint64_t seed = 1;
  bool crc = false;  // `crc=on`: answers carry x-oss-hash-crc64ecma, for the price of computing it.
};

/// Reads a spec. Errors name the word that is wrong and what is accepted.
absl::StatusOr<SyntheticSpec> ParseSyntheticSpec(absl::string_view text);

}  // namespace bucketvol::bucketd
