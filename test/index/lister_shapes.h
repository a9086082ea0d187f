#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

#include "test/support/fake_object_store.h"

namespace bucketvol::testing {

/// How the keys of a virtual bucket look.
enum class KeyShape {
  kEven,         // Numbered directories of 1,000 names with counters and hashes.
  kFlat,         // Zero-padded counters at the root.
  kSkewed,       // 95 % in one directory, the rest in even ones before and after it.
  kDeep,         // Directories within directories, eight levels.
  kSmallDirs,    // Numbered directories of 10 names.
  kHashed,       // Hex digits that look random.
  kLongCommon,   // 900 bytes in common, then counters.
  kUtf8,         // Counters written with characters of three bytes.
  kOddAlphabet,  // Counters written with punctuation and control bytes.
  kWords,        // Directories with irregular names, of irregular sizes.
  kManyTops,     // Irregular directories below one common directory.
  kDates,        // year/month/day/hour/ directories.
};
std::ostream& operator<<(std::ostream& out, KeyShape shape);

std::shared_ptr<const KeySequence> MakeShape(KeyShape shape, uint64_t keys);

}  // namespace bucketvol::testing
