#include "mounter/index/lister_key_space.h"

#include <algorithm>
#include <bit>

namespace bucketvol {
namespace {

constexpr size_t kMaxKeyBytes = 1024;
constexpr size_t kMaxPointBytes = kMaxKeyBytes - 1;
// How many neighbouring positions lend their bytes to one that has seen fewer: hashes and counters are at
// least so long.
constexpr size_t kNeighbours = 3;
// A double holds 53 bits; the rest is left for positions within a page.
constexpr double kMaxScale = 1e11;
// A point is written down to this part of a page.
constexpr double kPointPrecision = 0.2;

size_t CommonPrefix(absl::string_view a, absl::string_view b) {
  return std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first - a.begin();
}

struct Character {
  size_t length = 0;  // 0: no UTF-8 character begins with this byte.
  unsigned char second_low = 0x80;
  unsigned char second_high = 0xBF;
};

Character CharacterOf(unsigned char lead) {
  if (lead > 0 && lead < 0x80) return {1};
  if (lead >= 0xC2 && lead <= 0xDF) return {2};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {3};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  if (lead >= 0xF1 && lead <= 0xF3) return {4};
  return {0};
}

// Appends the character at the front of `text` to `out`, completed if the text ends within it. Returns its
// length, 0 if it is none.
size_t CopyCharacter(absl::string_view text, std::string& out) {
  const Character character = CharacterOf(static_cast<unsigned char>(text[0]));
  if (character.length == 0) return 0;
  for (size_t i = 1; i < character.length && i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const unsigned char low = i == 1 ? character.second_low : 0x80;
    const unsigned char high = i == 1 ? character.second_high : 0xBF;
    if (byte < low || byte > high) return 0;
  }
  for (size_t i = 0; i < character.length; ++i) {
    const unsigned char lowest = i == 1 ? character.second_low : 0x80;
    out.push_back(i < text.size() ? text[i] : static_cast<char>(lowest));
  }
  return character.length;
}

}  // namespace

void ByteSet::AddAll(const ByteSet& other) {
  for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
}

void ByteSet::AddRange(unsigned char first, unsigned char last) {
  for (int byte = first; byte <= last; ++byte) Add(static_cast<unsigned char>(byte));
}

bool ByteSet::ContainsAll(const ByteSet& other) const {
  for (size_t i = 0; i < words_.size(); ++i) {
    if ((other.words_[i] & ~words_[i]) != 0) return false;
  }
  return true;
}

int ByteSet::Size() const {
  int size = 0;
  for (const uint64_t word : words_) size += std::popcount(word);
  return size;
}

int ByteSet::Rank(unsigned char byte) const {
  int rank = 0;
  const size_t word = byte >> 6;
  for (size_t i = 0; i < word; ++i) rank += std::popcount(words_[i]);
  return rank + std::popcount(words_[word] & ((uint64_t{1} << (byte & 63)) - 1));
}

unsigned char ByteSet::Nth(int rank) const {
  size_t word = 0;
  while (rank >= std::popcount(words_[word])) rank -= std::popcount(words_[word++]);
  uint64_t bits = words_[word];
  for (; rank > 0; --rank) bits &= bits - 1;
  return static_cast<unsigned char>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
}

void KeyAlphabet::Learn(absl::string_view key) {
  if (key.size() > kMaxKeyBytes) key = key.substr(0, kMaxKeyBytes);
  if (key.size() > seen_.size()) seen_.resize(key.size());
  for (size_t i = 0; i < key.size(); ++i) seen_[i].Add(static_cast<unsigned char>(key[i]));
}

ByteSet KeyAlphabet::At(size_t position) const {
  ByteSet digits;
  digits.AddRange('0', '9');
  if (position >= seen_.size()) return digits;
  ByteSet bytes = seen_[position];
  if (bytes.Size() == 0) return digits;
  if (digits.ContainsAll(bytes)) bytes = digits;
  const size_t end = std::min(seen_.size(), position + 1 + kNeighbours);
  for (size_t i = position + 1; i < end; ++i) {
    if (seen_[i].ContainsAll(seen_[position])) bytes.AddAll(seen_[i]);
  }
  return bytes;
}

KeyRuler::KeyRuler(const KeyAlphabet& alphabet, const PageSpan& page, size_t prefix_bytes,
                   const std::optional<std::string>& end)
    : alphabet_(alphabet), page_(page), prefix_bytes_(prefix_bytes) {
  const size_t page_level = CommonPrefix(page.first, page.last);
  const size_t end_level = end ? CommonPrefix(page.last, *end) : prefix_bytes;
  const size_t lowest = std::min(page_level, end_level);
  level_ = page_level;
  for (double scale = alphabet.At(level_).Size(); level_ > lowest; --level_) {
    scale *= alphabet.At(level_ - 1).Size();
    if (scale > kMaxScale) break;
  }
  beyond_ = level_ > end_level;
  last_ = Measure(page.last);
  end_ = !end || beyond_ ? 1.0 : std::max(Measure(*end), last_);
  const double width = last_ - Measure(page.first);
  const double gaps = page.keys > 1 ? static_cast<double>(page.keys - 1) : 1.0;
  page_width_ = std::max(width * static_cast<double>(page.keys) / gaps, 1e-15);
}

double KeyRuler::Measure(absl::string_view key) const {
  double value = 0;
  double scale = 1;
  for (size_t i = level_; i < key.size() && scale > 1e-16; ++i) {
    const ByteSet bytes = alphabet_.At(i);
    const auto byte = static_cast<unsigned char>(key[i]);
    scale /= bytes.Size();
    value += bytes.Rank(byte) * scale;
    if (!bytes.Contains(byte)) break;
  }
  return value;
}

std::optional<std::string> KeyRuler::PointAt(double pages) const {
  double value = last_ + pages * page_width_;
  if (value >= end_) return std::nullopt;
  std::string point = page_.last.substr(0, level_);
  double scale = 1;
  while (scale > kPointPrecision * page_width_ && scale > 1e-16 && point.size() < kMaxPointBytes) {
    const ByteSet bytes = alphabet_.At(point.size());
    const int size = bytes.Size();
    value *= size;
    const int rank = std::clamp(static_cast<int>(value), 0, size - 1);
    point.push_back(static_cast<char>(bytes.Nth(rank)));
    value -= rank;
    scale /= size;
  }
  return point;
}

std::optional<std::string> KeyRuler::PointBeyond() const {
  if (!beyond_) return std::nullopt;
  // The last plain character that all measured keys share, made one greater.
  for (size_t size = level_; size > prefix_bytes_; --size) {
    std::string point = page_.last.substr(0, size);
    const auto byte = static_cast<unsigned char>(point.back());
    if (byte >= 0x7e) continue;
    ++point.back();
    return point;
  }
  return std::nullopt;
}

std::optional<std::string> MakeSplitPoint(std::string point, absl::string_view after,
                                          const std::optional<std::string>& end) {
  absl::string_view rest = point;
  std::string valid;
  while (!rest.empty()) {
    const size_t length = CopyCharacter(rest, valid);
    if (length == 0 || length >= rest.size()) break;
    rest.remove_prefix(length);
  }
  if (valid.size() > kMaxPointBytes || valid <= after || (end && valid >= *end)) return std::nullopt;
  return valid;
}

std::string PrefixSuccessor(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

}  // namespace bucketvol
