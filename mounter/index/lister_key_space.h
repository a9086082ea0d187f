#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// Keys are measured in symbols: UTF-8 characters, and single bytes where a key is not UTF-8. Byte order and
/// symbol order are the same for UTF-8.
using Symbol = char32_t;
using Symbols = std::u32string;
using SymbolsView = std::u32string_view;

Symbols ToSymbols(absl::string_view key);
std::string ToBytes(SymbolsView symbols);

/// A set of symbols, in their order.
class SymbolSet {
 public:
  SymbolSet() = default;
  SymbolSet(Symbol first, Symbol last);

  void Add(Symbol symbol);
  void AddAll(const SymbolSet& other);
  bool Contains(Symbol symbol) const;
  bool ContainsAll(const SymbolSet& other) const;
  size_t size() const { return symbols_.size(); }
  Symbol operator[](size_t rank) const { return symbols_[rank]; }
  /// How many members are smaller than `symbol`.
  size_t Rank(Symbol symbol) const;

 private:
  std::vector<Symbol> symbols_;  // Sorted.
};

/// Of so many objects every n-th is enough to learn from.
size_t LearningStep(size_t objects);

/// Remembers which symbols the names of each level of the tree have at each position. Not thread-safe.
class KeyAlphabet {
 public:
  void Learn(absl::string_view key);
  /// Notes that a directory is complete: one of another directory followed its keys. `directory` and `next`
  /// end in "/" or are empty.
  void LearnEnd(absl::string_view directory, absl::string_view next);
  /// Notes that `next` is the first key behind `point`, which no listing has shown.
  void LearnGap(absl::string_view point, absl::string_view next);

  /// Notes that all sub-directories of `directory` have been learned.
  void LearnWhole(absl::string_view directory);

  enum class Kind { kDirectory, kName };
  /// What has been seen at position `position` of directories, or of the names in them, at depth `level`;
  /// empty if nothing.
  const SymbolSet& At(Kind kind, size_t level, size_t position) const;
  /// Whether directories have been seen whole often enough to say that what has been seen at this depth is
  /// all there is.
  bool Complete(size_t level) const;

 private:
  using SetsByLevel = std::vector<std::vector<SymbolSet>>;  // By level and position.
  void NoteEnd(size_t level, uint64_t weight = 1);
  static void Learn(SetsByLevel& levels, size_t level, absl::string_view segment);

  SetsByLevel directories_;  // With the "/" at their ends.
  SetsByLevel names_;
  std::vector<uint64_t> ends_;  // By level: parents that were left behind with all their entries.
};

/// Whether what has been seen of complete directories is taken to be all there is.
enum class Trust { kNo, kYes };

/// What the latest page of an interval held.
struct PageSpan {
  PageSpan() = default;
  PageSpan(std::string asked_after, absl::Span<const ListedObject> objects);

  std::string after;  // What it was asked for.
  uint64_t keys = 0;  // 0: there has been no page.
  Symbols first;      // The first key, or `after` if there is only one.
  Symbols last;
  size_t common = 0;              // Leading symbols that all its keys share.
  std::vector<SymbolSet> varied;  // The symbols at the positions behind them.
};

/// Measures a stretch of key space in pages: keys become numbers in a mixed radix, which grow evenly from
/// page to page.
///
/// The radix of a position is the number of symbols to expect there: those in the page, and others by what
/// kind they are: the leading zeros of a counter will become other digits, the first symbol of a hash will be
/// any hex digit, while the
/// "/" behind a number of fixed width stays. For names of directories that have been seen whole it is what
/// was seen. Wrong guesses cost requests, never keys. Borrows its arguments.
class KeyRuler {
 public:
  /// The stretch behind a page, as dense as that page. `end`: where it ends; nullopt where only the prefix,
  /// of `prefix_symbols` symbols, bounds it. The page is not empty.
  static KeyRuler OfPage(const KeyAlphabet& alphabet, Trust trust, const PageSpan& page,
                         size_t prefix_symbols, const std::optional<Symbols>& end);
  /// What is known of sub-directories of the directories that are measured: nothing, or that they are like
  /// those seen elsewhere at their depth.
  enum class Below { kUnknown, kLikeOthers };
  /// The stretch behind a directory (a path without "/" at its end) and all it holds, with so many pages in
  /// each directory beside it that follows.
  static KeyRuler OfDirectory(const KeyAlphabet& alphabet, Trust trust, const Symbols& directory,
                              double directory_pages, Below below, size_t prefix_symbols,
                              const std::optional<Symbols>& end);

  /// Pages to the end of the stretch.
  double pages() const { return (end_ - last_) / page_width_; }
  /// The point so many pages from the beginning of the stretch; nullopt behind its end.
  std::optional<std::string> PointAt(double pages) const;
  /// The point behind everything that this ruler can measure, where the stretch goes on beyond that. nullopt
  /// otherwise.
  std::optional<std::string> PointBeyond() const;

 private:
  KeyRuler(const KeyAlphabet& alphabet, Trust trust, const Symbols& begin, size_t common,
           const std::vector<SymbolSet>& varied, size_t directory_symbols, size_t prefix_symbols,
           const std::optional<Symbols>& end);

  SymbolSet Known(size_t position) const;
  SymbolSet Expected(size_t position) const;
  const SymbolSet& Cached(size_t position) const;
  const SymbolSet& SetAt(SymbolsView key, size_t position) const;
  double Measure(SymbolsView key) const;

  const KeyAlphabet& alphabet_;
  const Trust trust_;
  const Symbols& begin_;
  const size_t common_;  // Symbols that the page shares.
  const std::vector<SymbolSet>& varied_;
  const size_t prefix_symbols_;
  const size_t directory_symbols_;  // Positions before this are in names of directories.
  Below below_ = Below::kUnknown;
  size_t level_ = 0;     // The first position that counts: all measured keys share those before it.
  bool beyond_ = false;  // The stretch goes on past the keys that share them.
  double last_ = 0;
  double end_ = 1;
  double page_width_ = 1;                    // > 0
  mutable std::vector<SymbolSet> expected_;  // From level_ on, as far as looked at.
};

/// Makes `point` fit for start-after: valid UTF-8 (what is not is dropped with all behind it), no NUL,
/// shorter than 1,024 bytes. nullopt if the result does not lie strictly between `after` and `end`.
std::optional<std::string> MakeSplitPoint(const std::string& point, absl::string_view after,
                                          const std::optional<std::string>& end);

/// The first string behind all that begin with `prefix`; empty when there is none.
std::string PrefixSuccessor(std::string prefix);

}  // namespace bucketvol
