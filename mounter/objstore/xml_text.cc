#include "mounter/objstore/xml_text.h"

#include <algorithm>
#include <cstring>

namespace bucketvol {
namespace {

struct Entity {
  size_t length = 0;  // 0: none.
  uint32_t character = 0;
};

bool IsXmlCharacter(uint32_t c) {
  return c == 0x9 || c == 0xA || c == 0xD || (c >= 0x20 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) ||
         (c >= 0x10000 && c <= 0x10FFFF);
}

int DigitValue(char c, uint32_t base) {
  if (c >= '0' && c <= '9') return c - '0';
  if (base == 16 && c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (base == 16 && c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// `text` begins with "&#".
Entity ParseReference(absl::string_view text) {
  const uint32_t base = text.size() > 2 && text[2] == 'x' ? 16 : 10;
  const size_t begin = base == 16 ? 3 : 2;
  uint32_t character = 0;
  size_t i = begin;
  for (; i < text.size() && DigitValue(text[i], base) >= 0; ++i) {
    character = character * base + static_cast<uint32_t>(DigitValue(text[i], base));
    if (character > 0x10FFFF) return {};
  }
  if (i == begin || i == text.size() || text[i] != ';' || !IsXmlCharacter(character)) return {};
  return {i + 1, character};
}

Entity ParseEntity(absl::string_view text) {
  static constexpr struct {
    absl::string_view name;
    char character;
  } kPredefined[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
  if (text.size() > 1 && text[1] == '#') return ParseReference(text);
  for (const auto& [name, character] : kPredefined) {
    if (text.substr(0, name.size()) == name) return {name.size(), static_cast<uint32_t>(character)};
  }
  return {};
}

char* AppendUtf8(char* out, uint32_t c) {
  const auto put = [&](uint32_t byte) { *out++ = static_cast<char>(byte); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
  return out;
}

}  // namespace

size_t EntityLength(absl::string_view text) { return ParseEntity(text).length; }

size_t DecodeEntitiesInPlace(char* data, size_t size) {
  if (size == 0) return 0;  // `data` may be null.
  char* in = static_cast<char*>(std::memchr(data, '&', size));
  if (in == nullptr) return size;
  char* const end = data + size;
  char* out = in;
  while (in != end) {
    const Entity entity = *in == '&' ? ParseEntity({in, static_cast<size_t>(end - in)}) : Entity();
    if (entity.length == 0) {
      *out++ = *in++;
    } else {
      out = AppendUtf8(out, entity.character);
      in += entity.length;
    }
  }
  return static_cast<size_t>(out - data);
}

}  // namespace bucketvol
