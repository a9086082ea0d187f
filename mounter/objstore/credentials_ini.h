#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bucketvol {

/// Keys, in lower case, and their values.
using IniSection = std::map<std::string, std::string>;
/// Sections by name, blanks inside the name made one.
using IniFile = std::map<std::string, IniSection>;

/// Parses the ini dialect of the AWS and OSS tools: "[section]", "key = value", whole-line comments by "#" or
/// ";".
///
/// Indented lines belong to a nested value and are skipped. Sections of one name are one; the last value of a
/// key counts. InvalidArgument names `path` and the line, never what stands there: it may be a secret.
absl::StatusOr<IniFile> ParseIni(absl::string_view content, absl::string_view path);

}  // namespace bucketvol
