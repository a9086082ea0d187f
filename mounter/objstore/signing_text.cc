#include "mounter/objstore/signing_text.h"

#include <algorithm>
#include <cstdio>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"

namespace bucketvol {

std::string CompactTime(absl::Time time) {
  const absl::CivilSecond t = absl::ToCivilSecond(time, absl::UTCTimeZone());
  char text[32];
  const int size = std::snprintf(text, sizeof(text), "%04d%02d%02dT%02d%02d%02dZ", static_cast<int>(t.year()),
                                 t.month(), t.day(), t.hour(), t.minute(), t.second());
  return std::string(text, static_cast<size_t>(size));
}

std::string HttpDate(absl::Time time) {
  return absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", time, absl::UTCTimeZone());
}

SortedHeaders SortHeaders(const std::vector<HttpHeader>& headers,
                          absl::FunctionRef<bool(absl::string_view name)> take) {
  SortedHeaders sorted;
  for (const HttpHeader& header : headers) {
    if (take(header.name)) sorted.emplace_back(header.name, absl::StripAsciiWhitespace(header.value));
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  SortedHeaders joined;
  for (auto& entry : sorted) {
    if (!joined.empty() && joined.back().first == entry.first) {
      absl::StrAppend(&joined.back().second, ",", entry.second);
    } else {
      joined.push_back(std::move(entry));
    }
  }
  return joined;
}

std::string HeaderLines(const SortedHeaders& headers) {
  std::string lines;
  for (const auto& [name, value] : headers) absl::StrAppend(&lines, name, ":", value, "\n");
  return lines;
}

absl::string_view HeaderValue(const std::vector<HttpHeader>& headers, absl::string_view name) {
  for (const HttpHeader& header : headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

std::string ResourcePath(absl::string_view bucket, absl::string_view key) {
  return bucket.empty() ? "/" : absl::StrCat("/", bucket, "/", key);
}

}  // namespace bucketvol
