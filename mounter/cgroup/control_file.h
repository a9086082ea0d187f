#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace bucketvol {

/// The text of a control file, without white space at its ends; empty when it cannot be read.
std::string ReadControlFile(const std::string& path);

/// The number in a control file; nullopt for "max", for the largest number of version 1 (no limit), and when
/// there is none.
std::optional<uint64_t> ReadControlNumber(const std::string& path);

/// The number after `name` in a control file of "NAME NUMBER" lines.
std::optional<uint64_t> ReadControlField(const std::string& path, absl::string_view name);

/// Writes a control file with one write(2). Errors name the file.
absl::Status WriteControlFile(const std::string& path, absl::string_view text);

}  // namespace bucketvol
