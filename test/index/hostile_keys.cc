#include "test/index/hostile_keys.h"

#include <set>

namespace bucketvol::testing {
namespace {

using namespace std::string_literals;

// Neighbours of "/" and "." in byte order, names that are prefixes of others, and what file systems refuse.
const std::vector<std::string>& OddSegments() {
  static const auto* const kSegments = new std::vector<std::string>{"a",
                                                                    "a b",
                                                                    "a-b",
                                                                    "a.txt",
                                                                    "a0",
                                                                    "a!",
                                                                    "aa",
                                                                    "A",
                                                                    "b",
                                                                    "!",
                                                                    "-",
                                                                    " ",
                                                                    "...",
                                                                    ".\x01",
                                                                    ".a",
                                                                    "..a",
                                                                    "\x01",
                                                                    "\n",
                                                                    "\\",
                                                                    "\xff",
                                                                    "\xfe\xff",
                                                                    "\xc3\xa9",
                                                                    "e\xcc\x81",
                                                                    "x_$folder$",
                                                                    "*",
                                                                    "\"",
                                                                    "%2F",
                                                                    ".",
                                                                    "..",
                                                                    "",
                                                                    "a\0b"s,
                                                                    "\0"s,
                                                                    std::string(255, 'n'),
                                                                    std::string(256, 'n'),
                                                                    std::string(255, '\xff'),
                                                                    std::string(254, 'a') + "-"};
  return *kSegments;
}

}  // namespace

std::string HostileKeys::FromAlphabet(const std::string& alphabet, size_t most) {
  std::string text;
  for (uint64_t length = 1 + Below(most); text.size() < length;)
    text.push_back(alphabet[Below(alphabet.size())]);
  return text;
}

std::string HostileKeys::Segment() {
  if (Below(3) == 0) return FromAlphabet("ab-.0!", 3);
  return OddSegments()[Below(OddSegments().size())];
}

std::string HostileKeys::Path() {
  switch (style_) {
    case 0:
      return FromAlphabet("a-/.0!", 9);  // Short strings meet in every way.
    case 1:
      return FromAlphabet("ab/", 40);  // Deep.
    case 2:
      return FromAlphabet("0123456789", 6) + (Below(8) == 0 ? "/f" : "");  // Flat.
    default:
      break;
  }
  std::string path = Segment();
  for (uint64_t depth = Below(5); depth > 0; --depth) path += "/" + Segment();
  if (Below(6) == 0) path += "/";
  return path;
}

std::string HostileKeys::Etag() {
  std::string digits = "0123456789abcdef";
  if (Below(2) == 0) digits = "0123456789ABCDEF";
  std::string etag;
  for (int i = 0; i < 32; ++i) etag.push_back(digits[Below(16)]);
  switch (Below(8)) {
    case 0:
      return etag + "-" + std::to_string(1 + Below(10'000));
    case 1:
      return etag + "-007";
    case 2:
      return FromAlphabet(std::string("\0\xff\"-x", 5), 60);
    case 3:
      return "";
    default:
      return etag;
  }
}

uint64_t HostileKeys::Size() {
  switch (Below(8)) {
    case 0:
      return 0;
    case 1:
      return uint64_t{1} << Below(42);
    case 2:
      return 4096 * (1 + Below(3));
    default:
      return 1 + Below(100'000);
  }
}

std::vector<TestObject> HostileKeys::Objects(const std::string& prefix) {
  style_ = static_cast<int>(Below(6));
  std::set<std::string> keys;
  const uint64_t count = Below(20) == 0 ? 2000 : Below(120);
  for (uint64_t i = 0; i < count; ++i) keys.insert(prefix + Path());
  if (Below(4) == 0 && !prefix.empty()) keys.insert(prefix);
  std::vector<TestObject> objects;
  for (const std::string& key : keys) {
    const bool marker = key.empty() || key.back() == '/';
    const auto modified = static_cast<int64_t>(Below(4'000'000'000'000)) - 1'000'000'000'000;
    objects.push_back({key, marker && Below(2) == 0 ? 0 : Size(), modified, Etag(), Below(10) == 0});
  }
  return objects;
}

}  // namespace bucketvol::testing
