#include "mounter/options/option_table.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "mounter/options/option_rows.h"

namespace bucketvol {
namespace {

constexpr char kFstabCommentPrefix[] = "x-";  // fstab(5): x-systemd.automount and the like are for others.

std::vector<OptionRow> BuildTable() {
  std::vector<OptionRow> table;
  AppendSourceRows(table);
  AppendCredentialRows(table);
  AppendContentRows(table);
  AppendLimitRows(table);
  AppendMountRows(table);
  return table;
}

using OptionIndex = std::map<std::string, const OptionRow*>;

OptionIndex BuildIndex() {
  OptionIndex index;
  for (const OptionRow& row : OptionTable()) {
    index[absl::AsciiStrToLower(row.name)] = &row;
    for (const std::string& alias : row.aliases) index[absl::AsciiStrToLower(alias)] = &row;
  }
  return index;
}

/// Counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

absl::Span<const OptionRow> OptionTable() {
  static const auto& table = *new std::vector<OptionRow>(BuildTable());
  return table;
}

const OptionRow* FindOption(absl::string_view name) {
  static const auto& index = *new OptionIndex(BuildIndex());
  const std::string lower = absl::AsciiStrToLower(name);
  const auto found = index.find(absl::StartsWith(lower, kFstabCommentPrefix) ? "x-…" : lower);
  return found == index.end() ? nullptr : found->second;
}

std::string NearestWord(absl::string_view word, const std::vector<std::string>& names) {
  constexpr size_t kLongestWord = 64;  // Bounds the work on hostile input.
  if (word.size() > kLongestWord) return "";
  const std::string lower = absl::AsciiStrToLower(word);
  std::string nearest;
  size_t limit = 1 + lower.size() / 4 + 1;  // A slip or two, not another word.
  for (const std::string& name : names) {
    const size_t distance = EditDistance(lower, absl::AsciiStrToLower(name));
    if (distance >= limit || distance >= name.size()) continue;
    limit = distance;
    nearest = name;
  }
  return nearest;
}

}  // namespace bucketvol
