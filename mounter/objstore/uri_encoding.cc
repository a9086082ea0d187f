#include "mounter/objstore/uri_encoding.h"

#include <algorithm>
#include <cstring>

namespace bucketvol {
namespace {

bool IsUnreserved(unsigned char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

void AppendEncoded(std::string& out, absl::string_view bytes, bool keep_slash) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsUnreserved(byte) || (keep_slash && c == '/')) {
      out.push_back(c);
    } else {
      out.push_back('%');
      out.push_back(kHex[byte >> 4]);
      out.push_back(kHex[byte & 15]);
    }
  }
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string EncodePath(absl::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + 16);
  AppendEncoded(out, bytes, /*keep_slash=*/true);
  return out;
}

std::string EncodeQueryPart(absl::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + 16);
  AppendEncoded(out, bytes, /*keep_slash=*/false);
  return out;
}

std::string EncodeQuery(const QueryParameters& query, EmptyValue empty) {
  std::vector<std::pair<std::string, std::string>> encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query) encoded.emplace_back(EncodeQueryPart(name), EncodeQueryPart(value));
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded) {
    if (!out.empty()) out.push_back('&');
    out += name;
    if (!value.empty() || empty == EmptyValue::kWithEquals) out.push_back('=');
    out += value;
  }
  return out;
}

std::optional<size_t> DecodeFormInPlace(char* data, size_t size) {
  const char* in = data;
  const char* const end = data + size;
  while (in != end && *in != '%' && *in != '+') ++in;  // Most text needs no decoding.
  char* out = data + (in - data);
  while (in != end) {
    if (*in == '%') {
      if (end - in < 3) return std::nullopt;
      const int high = HexDigit(in[1]), low = HexDigit(in[2]);
      if (high < 0 || low < 0) return std::nullopt;
      *out++ = static_cast<char>(high << 4 | low);
      in += 3;
    } else {
      *out++ = *in == '+' ? ' ' : *in;
      ++in;
    }
  }
  return static_cast<size_t>(out - data);
}

}  // namespace bucketvol
