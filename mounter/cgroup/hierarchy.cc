#include "mounter/cgroup/hierarchy.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "mounter/cgroup/control_file.h"

namespace bucketvol {
namespace {

// Words of a super block's options that are no controllers (cgroups(7)).
constexpr std::array<absl::string_view, 6> kFlags = {"rw",   "ro", "none", "noprefix", "clone_children",
                                                     "xattr"};

/// mountinfo writes blanks, tabs, line breaks and backslashes of paths as \ and three octal digits.
std::string Unescape(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      out.push_back(text[i]);
      continue;
    }
    out.push_back(
        static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
    i += 3;
  }
  return out;
}

bool IsController(absl::string_view word) {
  return std::find(kFlags.begin(), kFlags.end(), word) == kFlags.end() &&
         !absl::StartsWith(word, "release_agent=");
}

std::optional<CgroupHierarchy> ParseLine(absl::string_view line) {
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(line, absl::MaxSplits(" - ", 1));
  const std::vector<absl::string_view> place = absl::StrSplit(halves.first, ' ');
  const std::vector<absl::string_view> system = absl::StrSplit(halves.second, ' ');
  if (place.size() < 6 || system.size() < 3) return std::nullopt;
  CgroupHierarchy hierarchy;
  hierarchy.mount_point = Unescape(place[4]);
  if (system[0] == "cgroup2") return hierarchy;
  if (system[0] != "cgroup") return std::nullopt;
  hierarchy.version = CgroupVersion::kV1;
  for (const absl::string_view word : absl::StrSplit(system[2], ',')) {
    if (IsController(word)) hierarchy.controllers.emplace_back(word);
  }
  return hierarchy;
}

}  // namespace

bool CgroupHierarchy::Has(absl::string_view controller) const {
  return std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
}

std::vector<CgroupHierarchy> ParseHierarchies(absl::string_view mountinfo) {
  std::vector<CgroupHierarchy> found;
  const auto known = [&](const CgroupHierarchy& one) {
    return std::any_of(found.begin(), found.end(), [&](const CgroupHierarchy& other) {
      return other.version == one.version && other.controllers == one.controllers;
    });
  };
  for (const absl::string_view line : absl::StrSplit(mountinfo, '\n')) {
    auto hierarchy = ParseLine(line);
    if (hierarchy && !known(*hierarchy)) found.push_back(*std::move(hierarchy));
  }
  return found;
}

void ReadControllers(std::vector<CgroupHierarchy>& hierarchies) {
  for (CgroupHierarchy& hierarchy : hierarchies) {
    if (hierarchy.version != CgroupVersion::kV2) continue;
    const std::string text = ReadControlFile(hierarchy.mount_point + "/cgroup.controllers");
    hierarchy.controllers = absl::StrSplit(absl::StripAsciiWhitespace(text), ' ', absl::SkipEmpty());
  }
}

}  // namespace bucketvol
