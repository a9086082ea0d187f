#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace bucketvol {

/// Reads the document with the scanner (and expat behind it) and with expat alone, in both dialects. Returns
/// what differs; empty when nothing does.
std::string DifferenceOfListReaders(absl::string_view document);

}  // namespace bucketvol
