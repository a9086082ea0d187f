#pragma once

#include "absl/strings/string_view.h"

namespace bucketvol {

/// What `bucketvol help` prints.
absl::string_view HelpText();

}  // namespace bucketvol
