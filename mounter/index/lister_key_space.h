#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bucketvol {

/// A set of byte values, in their order.
class ByteSet {
 public:
  void Add(unsigned char byte) { words_[byte >> 6] |= uint64_t{1} << (byte & 63); }
  void AddAll(const ByteSet& other);
  void AddRange(unsigned char first, unsigned char last);
  bool Contains(unsigned char byte) const { return (words_[byte >> 6] >> (byte & 63) & 1) != 0; }
  bool ContainsAll(const ByteSet& other) const;
  int Size() const;
  /// How many members are smaller than `byte`.
  int Rank(unsigned char byte) const;
  /// The member with that rank; 0 ≤ rank < Size().
  unsigned char Nth(int rank) const;

 private:
  std::array<uint64_t, 4> words_{};
};

/// Learns from sample keys which bytes occur at which position, and guesses which others may.
///
/// The guess is what makes a key space measurable before it has been seen: the leading zeros of a counter
/// will become other digits, the first character of a hash will be any hex digit, while the "/" behind a
/// number of fixed width stays. Wrong guesses cost requests, never keys. Not thread-safe.
class KeyAlphabet {
 public:
  void Learn(absl::string_view key);
  /// The bytes to expect at `position`; not empty.
  ByteSet At(size_t position) const;

 private:
  std::vector<ByteSet> seen_;
};

/// What the latest page of an interval held; `keys` counts from `first` to `last`, both included.
struct PageSpan {
  std::string first;
  std::string last;
  uint64_t keys = 0;
};

/// Measures the stretch of key space behind a page in units of that page: keys become numbers in the mixed
/// radix that the alphabet gives, and keys are taken to be as dense ahead as they were in the page.
///
/// Cheap to make; borrows its arguments, and the alphabet must not change meanwhile.
class KeyRuler {
 public:
  /// `end`: where the stretch ends; nullopt where only the prefix of `prefix_bytes` bytes bounds it.
  KeyRuler(const KeyAlphabet& alphabet, const PageSpan& page, size_t prefix_bytes,
           const std::optional<std::string>& end);

  /// Pages from the last key of the page to the end, if all of it is as dense as the page.
  double pages() const { return (end_ - last_) / page_width_; }
  /// The point so many pages behind the page; nullopt behind the end.
  std::optional<std::string> PointAt(double pages) const;
  /// The point behind everything that this ruler can measure, where the stretch goes on beyond that: the
  /// first key that does not share the common beginning. nullopt otherwise.
  std::optional<std::string> PointBeyond() const;

 private:
  double Measure(absl::string_view key) const;

  const KeyAlphabet& alphabet_;
  const PageSpan& page_;
  const size_t prefix_bytes_;
  size_t level_ = 0;     // The first byte that counts: all measured keys share those before it.
  bool beyond_ = false;  // The stretch goes on past the keys that share them.
  double last_ = 0;
  double end_ = 1;
  double page_width_ = 1;  // Of one page, > 0.
};

/// Makes `point` fit for start-after: valid UTF-8 (a character that was cut off is completed with its lowest
/// bytes, what is not UTF-8 is dropped with all behind it), no NUL, shorter than 1,024 bytes. nullopt if the
/// result does not lie strictly between `after` and `end`.
std::optional<std::string> MakeSplitPoint(std::string point, absl::string_view after,
                                          const std::optional<std::string>& end);

/// The first string behind all that begin with `prefix`; empty when there is none.
std::string PrefixSuccessor(std::string prefix);

}  // namespace bucketvol
