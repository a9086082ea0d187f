#include "test/bucketd/key_formula.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "test/bucketd/content.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

constexpr unsigned kDepth = 8;
constexpr absl::string_view kSuffix = ".jpg";
constexpr unsigned kHashBytes = 9;         // '_' and eight digits.
constexpr unsigned kUsualNumberWidth = 8;  // As data sets number their files, where the name is long enough.
constexpr absl::string_view kWords = "imagenet-train-sample-";

unsigned DigitsFor(uint64_t count) {
  unsigned digits = 1;
  for (uint64_t last = count > 0 ? count - 1 : 0; last >= 10; last /= 10) ++digits;
  return digits;
}

uint64_t Directories(const SyntheticSpec& spec) { return (spec.keys + spec.per_dir - 1) / spec.per_dir; }

// Most names that one directory holds.
uint64_t LargestDirectory(const SyntheticSpec& spec) {
  const bool one_holds_most = spec.shape == Shape::kFlat || spec.shape == Shape::kSkewed;
  return one_holds_most ? std::max(spec.keys, spec.per_dir) : spec.per_dir;
}

std::string WordOf(unsigned bytes) {
  std::string word;
  while (word.size() < bytes) absl::StrAppend(&word, kWords);
  word.resize(bytes);
  if (bytes > 1) word.back() = '_';
  return word;
}

uint64_t CountDirectories(uint64_t fan_out, unsigned levels) {
  uint64_t count = 0;
  for (unsigned i = 0; i <= levels; ++i) count = count * fan_out + 1;
  return count;
}

}  // namespace

absl::Status KeyFormula::Check(const SyntheticSpec& spec) {
  if (spec.per_dir == 0) return absl::InvalidArgumentError("per-dir must be at least 1");
  if (spec.keys > 1'000'000'000'000) return absl::InvalidArgumentError("more than 10^12 keys");
  const unsigned least = 1 + DigitsFor(LargestDirectory(spec));
  if (spec.name_bytes < least) {
    return absl::InvalidArgumentError(
        absl::StrCat("name-bytes must be at least ", least, " for so many names"));
  }
  if (spec.name_bytes > 900) return absl::InvalidArgumentError("name-bytes must be at most 900");
  return absl::OkStatus();
}

KeyFormula::KeyFormula(const SyntheticSpec& spec)
    : keys_(spec.keys),
      per_dir_(spec.per_dir),
      seed_(spec.seed),
      shape_(spec.shape),
      name_bytes_(spec.name_bytes),
      number_width_(DigitsFor(LargestDirectory(spec))),
      directory_width_(std::max(4u, DigitsFor(Directories(spec)))) {
  unsigned room = name_bytes_ - 1 - number_width_;
  with_suffix_ = room >= kSuffix.size();
  if (with_suffix_) room -= kSuffix.size();
  with_hash_ = room >= kHashBytes;
  if (with_hash_) room -= kHashBytes;
  const unsigned padding = std::min(room, kUsualNumberWidth - std::min(kUsualNumberWidth, number_width_));
  number_width_ += padding;
  word_ = WordOf(1 + room - padding);

  const uint64_t rest = keys_ - keys_ / 100 * 95 - keys_ % 100 * 95 / 100;
  skew_begin_ = rest / 2;
  skew_end_ = keys_ - (rest - rest / 2);

  while (CountDirectories(fan_out_, kDepth) < Directories(spec)) ++fan_out_;
  for (unsigned depth = 0; depth <= kDepth; ++depth)
    subtree_size_[depth] = CountDirectories(fan_out_, kDepth - depth);
}

size_t KeyFormula::Write(uint64_t index, char* out) const {
  const Place place = WriteDirectory(index, out);
  return WriteName(place.number, index, place.end) - out;
}

std::string KeyFormula::At(uint64_t index) const {
  char buffer[kMaxKeyBytes];
  return std::string(buffer, Write(index, buffer));
}

KeyFormula::Place KeyFormula::WriteDirectory(uint64_t index, char* out) const {
  const uint64_t directory = index / per_dir_;
  switch (shape_) {
    case Shape::kFlat:
      return {index, out};
    case Shape::kSkewed:
      return WriteSkewed(index, out);
    case Shape::kDeep:
      return {index - directory * per_dir_, WriteDeepDirectory(directory, out)};
    case Shape::kEven:
      break;
  }
  *out++ = 'd';
  out = WritePadded(directory, directory_width_, out);
  *out++ = '/';
  return {index - directory * per_dir_, out};
}

KeyFormula::Place KeyFormula::WriteSkewed(uint64_t index, char* out) const {
  if (index >= skew_begin_ && index < skew_end_) {
    constexpr absl::string_view kDirectory = "data/";
    return {index - skew_begin_, std::copy(kDirectory.begin(), kDirectory.end(), out)};
  }
  const bool before = index < skew_begin_;
  const uint64_t local = before ? index : index - skew_end_;
  *out++ = before ? 'c' : 'e';
  out = WritePadded(local / per_dir_, directory_width_, out);
  *out++ = '/';
  return {local % per_dir_, out};
}

// Directories are numbered so that the sub-directories of one come before itself: their names ("d…") sort
// before the names of its own files ("i…").
char* KeyFormula::WriteDeepDirectory(uint64_t rank, char* out) const {
  for (unsigned depth = 0; depth < kDepth; ++depth) {
    const uint64_t child = rank / subtree_size_[depth + 1];
    if (child == fan_out_) break;
    rank -= child * subtree_size_[depth + 1];
    *out++ = 'd';
    out = WritePadded(child, DigitsFor(fan_out_), out);
    *out++ = '/';
  }
  return out;
}

char* KeyFormula::WriteName(uint64_t number, uint64_t index, char* out) const {
  std::memcpy(out, word_.data(), word_.size());
  out = WritePadded(number, number_width_, out + word_.size());
  if (with_hash_) {
    *out++ = '_';
    out = WriteHex32(static_cast<uint32_t>(MixBits(seed_ ^ (index * 0x9e3779b97f4a7c15u))), out);
  }
  if (with_suffix_) {
    std::memcpy(out, kSuffix.data(), kSuffix.size());
    out += kSuffix.size();
  }
  return out;
}

uint64_t KeyFormula::FirstAtOrAfter(absl::string_view key) const {
  char buffer[kMaxKeyBytes];
  uint64_t low = 0;
  uint64_t high = keys_;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (absl::string_view(buffer, Write(middle, buffer)) < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

uint64_t KeyFormula::FirstAfter(absl::string_view key) const {
  const uint64_t index = FirstAtOrAfter(key);
  if (index == keys_) return index;
  char buffer[kMaxKeyBytes];
  return absl::string_view(buffer, Write(index, buffer)) == key ? index + 1 : index;
}

}  // namespace bucketvol::bucketd
