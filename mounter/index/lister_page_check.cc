#include "mounter/index/lister_page_check.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"

namespace bucketvol {
namespace {

absl::Status OutOfOrder(absl::string_view before, absl::string_view after) {
  return absl::DataLossError(absl::StrCat("the service does not list keys in byte order: \"",
                                          Printable(after), "\" came after \"", Printable(before), "\""));
}

}  // namespace

absl::Status CheckListPage(absl::string_view prefix, absl::string_view after, const ListPage& page) {
  if (page.objects.empty()) return absl::OkStatus();
  const absl::string_view first = page.objects.front().key;
  if (!after.empty() && first <= after) {
    return absl::DataLossError(absl::StrCat("the service repeated a key that it had listed before: \"",
                                            Printable(first), "\" was asked for after \"", Printable(after),
                                            "\""));
  }
  for (size_t i = 1; i < page.objects.size(); ++i) {
    const absl::string_view before = page.objects[i - 1].key;
    if (before >= page.objects[i].key) return OutOfOrder(before, page.objects[i].key);
  }
  // Between two keys that begin with the prefix there are only such keys.
  for (const absl::string_view key : {first, page.objects.back().key}) {
    if (!absl::StartsWith(key, prefix)) {
      return absl::DataLossError(absl::StrCat("the service listed a key outside of the prefix \"",
                                              Printable(prefix), "\": \"", Printable(key), "\""));
    }
  }
  return absl::OkStatus();
}

size_t CountUpTo(const ListPage& page, const std::optional<std::string>& end) {
  if (!end || page.objects.empty() || page.objects.back().key <= *end) return page.objects.size();
  const auto after = std::upper_bound(
      page.objects.begin(), page.objects.end(), absl::string_view(*end),
      [](absl::string_view bound, const ListedObject& object) { return bound < object.key; });
  return static_cast<size_t>(after - page.objects.begin());
}

}  // namespace bucketvol
