#include "mounter/objstore/signing_text.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"

namespace bucketvol {

std::string CompactTime(absl::Time time) {
  const absl::CivilSecond t = absl::ToCivilSecond(time, absl::UTCTimeZone());
  std::string text = "00000000T000000Z";
  const auto put = [&](size_t at, size_t digits, int64_t number) {
    for (; digits > 0; number /= 10) text[at + --digits] = static_cast<char>('0' + number % 10);
  };
  put(0, 4, t.year());
  put(4, 2, t.month());
  put(6, 2, t.day());
  put(9, 2, t.hour());
  put(11, 2, t.minute());
  put(13, 2, t.second());
  return text;
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
