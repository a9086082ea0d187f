#include "test/bucketd/http_message.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace bucketvol::bucketd {
namespace {

// Takes a line off the front of `rest`; accepts a bare LF as RFC 9112 allows.
absl::string_view TakeLine(absl::string_view& rest) {
  const size_t end = rest.find('\n');
  absl::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == absl::string_view::npos ? rest.size() : end + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool ParseTarget(absl::string_view target, HttpRequest& request) {
  if (absl::StartsWithIgnoreCase(target, "http://") || absl::StartsWithIgnoreCase(target, "https://")) {
    target.remove_prefix(target.find("//") + 2);
    const size_t slash = target.find_first_of("/?");
    request.host = target.substr(0, slash);
    target = slash == absl::string_view::npos ? "/" : target.substr(slash);
  }
  const size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != absl::string_view::npos) request.query = target.substr(question + 1);
  return absl::StartsWith(request.path, "/");
}

bool ParseRequestLine(absl::string_view line, HttpRequest& request) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == absl::string_view::npos || first == 0 || last == first) return false;
  request.method = line.substr(0, first);
  const absl::string_view version = line.substr(last + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return false;
  request.keep_alive = version == "HTTP/1.1";
  return ParseTarget(line.substr(first + 1, last - first - 1), request);
}

bool InterpretHeader(const HttpHeader& header, HttpRequest& request) {
  switch (header.name.size()) {
    case 4:
      if (request.host.empty() && absl::EqualsIgnoreCase(header.name, "host")) request.host = header.value;
      break;
    case 6:
      if (absl::EqualsIgnoreCase(header.name, "expect")) {
        request.expects_continue = absl::EqualsIgnoreCase(header.value, "100-continue");
      }
      break;
    case 10:
      if (!absl::EqualsIgnoreCase(header.name, "connection")) break;
      if (absl::EqualsIgnoreCase(header.value, "close")) request.keep_alive = false;
      if (absl::EqualsIgnoreCase(header.value, "keep-alive")) request.keep_alive = true;
      break;
    case 14:
      if (!absl::EqualsIgnoreCase(header.name, "content-length")) break;
      return absl::SimpleAtoi(header.value, &request.content_length);
    case 17:
      if (!absl::EqualsIgnoreCase(header.name, "transfer-encoding")) break;
      request.chunked = absl::EqualsIgnoreCase(header.value, "chunked");
      return request.chunked || absl::EqualsIgnoreCase(header.value, "identity");
    default:
      break;
  }
  return true;
}

}  // namespace

std::optional<absl::string_view> HttpRequest::Find(absl::string_view lower_name) const {
  for (const HttpHeader& header : headers) {
    if (header.name.size() == lower_name.size() && absl::EqualsIgnoreCase(header.name, lower_name))
      return header.value;
  }
  return std::nullopt;
}

bool ParseHttpRequest(absl::string_view head, HttpRequest& request) {
  if (!ParseRequestLine(TakeLine(head), request)) return false;
  while (!head.empty()) {
    const absl::string_view line = TakeLine(head);
    if (line.empty()) break;
    const size_t colon = line.find(':');
    if (colon == absl::string_view::npos || colon == 0) return false;
    const HttpHeader header = {line.substr(0, colon), absl::StripAsciiWhitespace(line.substr(colon + 1))};
    if (absl::ascii_isspace(header.name.back()) || !InterpretHeader(header, request)) return false;
    request.headers.push_back(header);
  }
  return true;
}

void Reply::Add(absl::string_view name, absl::string_view value) {
  absl::StrAppend(&headers, name, ": ", value, "\r\n");
}

absl::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 416:
      return "Requested Range Not Satisfiable";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";
  }
}

}  // namespace bucketvol::bucketd
