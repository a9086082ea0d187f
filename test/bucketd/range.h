#pragma once

#include <cstdint>

#include "absl/strings/string_view.h"
#include "mounter/base/byte_range.h"
#include "test/bucketd/service_error.h"

namespace bucketvol::bucketd {

/// What a Range header means for an object.
struct RangeAnswer {
  enum class Kind { kWhole, kPart, kUnsatisfiable, kSeveral } kind = Kind::kWhole;
  ByteRange range;  // kPart: never empty. kWhole: all of the object.
};

/// How ranges that do not fit are treated.
enum class RangeRule {
  kOssPlain,     // Anything that does not fit gives the whole object with 200.
  kOssStandard,  // `x-oss-range-behavior: standard`: clipped at the end, 416 beyond it.
  kS3,           // As standard; a suffix longer than the object is a 206 of all of it.
};

/// Interprets the value of a Range header (empty: none) for an object of `size` bytes.
RangeAnswer ResolveRange(absl::string_view header, uint64_t size, RangeRule rule);

}  // namespace bucketvol::bucketd
