#include "mounter/cgroup/control_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"

namespace bucketvol {
namespace {

constexpr size_t kControlFileLimit = 64 * 1024;
// "No limit" of version 1 is the largest number of pages in bytes: just below 2^63 whatever the page size.
constexpr uint64_t kNoLimit = uint64_t{1} << 62;

std::optional<uint64_t> ParseNumber(absl::string_view text) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value >= kNoLimit) return std::nullopt;
  return value;
}

}  // namespace

std::string ReadControlFile(const std::string& path) {
  const auto text = ReadWholeFile(path, kControlFileLimit);
  return text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
}

std::optional<uint64_t> ReadControlNumber(const std::string& path) {
  return ParseNumber(ReadControlFile(path));
}

std::optional<uint64_t> ReadControlField(const std::string& path, absl::string_view name) {
  const std::string text = ReadControlFile(path);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (field.first == name) return ParseNumber(field.second);
  }
  return std::nullopt;
}

absl::Status WriteControlFile(const std::string& path, absl::string_view text) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!fd.valid()) return ErrnoToStatus(errno, absl::StrCat("open ", path));
  if (write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return ErrnoToStatus(errno, absl::StrCat("write \"", text, "\" to ", path));
  return absl::OkStatus();
}

}  // namespace bucketvol
