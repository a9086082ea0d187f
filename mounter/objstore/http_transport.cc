#include "mounter/objstore/http_transport.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace bucketvol {

absl::string_view HttpMethodName(HttpMethod method) {
  switch (method) {
    case HttpMethod::kGet:
      return "GET";
    case HttpMethod::kHead:
      return "HEAD";
  }
  return "?";
}

void HttpResponseHead::Clear() {
  status_ = 0;
  text_.clear();
  fields_.clear();
}

bool HttpResponseHead::TakeLine(absl::string_view line) {
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.empty()) return status_ >= 200;
  if (!absl::StartsWith(line, "HTTP/")) {
    AddField(line);
    return false;
  }
  Clear();
  const size_t space = line.find(' ');
  const bool known =
      space != absl::string_view::npos && absl::SimpleAtoi(line.substr(space + 1, 3), &status_);
  if (!known) status_ = 0;
  return false;
}

void HttpResponseHead::AddField(absl::string_view line) {
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return;
  const auto begin = static_cast<uint32_t>(text_.size());
  text_.append(line.data(), line.size());
  fields_.push_back({begin, begin + static_cast<uint32_t>(colon), static_cast<uint32_t>(text_.size())});
}

std::optional<absl::string_view> HttpResponseHead::Find(absl::string_view name) const {
  const absl::string_view text = text_;
  for (const Field& field : fields_) {
    if (absl::EqualsIgnoreCase(text.substr(field.name, field.colon - field.name), name)) {
      return absl::StripAsciiWhitespace(text.substr(field.colon + 1, field.end - field.colon - 1));
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> HttpResponseHead::ContentLength() const {
  uint64_t length = 0;
  const std::optional<absl::string_view> value = Find("content-length");
  if (!value || !absl::SimpleAtoi(*value, &length)) return std::nullopt;
  return length;
}

}  // namespace bucketvol
