#pragma once

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace bucketvol {

/// Length of the entity or character reference at the front of `text` (which begins with '&'), or 0 unless it
/// is one of the five that XML predefines or a reference to a character that XML allows.
size_t EntityLength(absl::string_view text);

/// Replaces entities that EntityLength knows by what they stand for, in UTF-8; other '&' stay. Returns the
/// new size.
size_t DecodeEntitiesInPlace(char* data, size_t size);

}  // namespace bucketvol
