#pragma once

#include <string>

namespace bucketvol {

/// "bucketvol 0.1.0 (index format 1)"
std::string VersionText();
std::string VersionJson();

}  // namespace bucketvol
