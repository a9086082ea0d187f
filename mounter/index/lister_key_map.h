#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "mounter/index/lister_key_space.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// The path up to and including the last "/" of a key; empty at the root.
absl::string_view DirectoryOf(absl::string_view key);

/// A stretch of key space: what lies behind `after` up to `end`, next to the page read last.
struct KeyStretch {
  const std::string& after;               // Exclusive.
  const std::optional<std::string>& end;  // nullopt: to the end of the prefix.
  const PageSpan& page;                   // Ends at `after`; `keys` is 0 when nothing has been read here.
  double pages_in_directory = 0;          // Read in the directory that `after` is in.
  double pages_in_landmark = 0;           // Read since a landmark was passed.
  Trust trust = Trust::kYes;              // No, where there were more keys than the map foretold.
};

/// The mean of what has been noted.
class Mean {
 public:
  void Note(double value) {
    sum_ += value;
    ++count_;
  }
  double count() const { return count_; }
  double value() const { return sum_ / count_; }

 private:
  double sum_ = 0;
  double count_ = 0;
};

/// Everything that is known of where the keys of a bucket lie, and the guesses made from it: how many pages a
/// stretch holds and where to split it.
///
/// A stretch is taken as four parts: the rest of the directory where it begins, other directories behind
/// that, and landmarks (real points of the key space: hints of an earlier listing, directories seen in a
/// listing with a delimiter) with what lies between them. Where all sub-directories of some directories have
/// been listed, a directory is taken to hold a sub-tree like theirs. Not thread-safe.
class KeyMap {
 public:
  explicit KeyMap(std::string prefix)
      : prefix_(std::move(prefix)), prefix_symbols_(ToSymbols(prefix_).size()) {}

  /// What landmarks are: directories of any size, or points at even distances.
  enum class Landmarks { kDirectories, kEven };
  /// Takes points into the map. Points that cannot serve as start-after, or lie outside of the prefix, are
  /// left out.
  void AddLandmarks(const std::vector<std::string>& points, Landmarks kind);
  /// Notes that `directory` has so many sub-directories, all of which have been added as landmarks.
  void LearnWhole(absl::string_view directory, size_t sub_directories);
  /// What a page showed.
  struct News {
    KeyStretch stretch;                      // As it was before the page.
    bool after_is_key = false;               // `after` is a key that has been listed.
    absl::Span<const ListedObject> objects;  // Those that are new.
    absl::string_view first;                 // Its first key, new or not; empty for an empty page.
    double pages = 0;                        // What part of a full page the new ones make.
  };
  /// Learns from a page, and sets how much has been read in the directory and behind the landmark where it
  /// ends.
  void LearnPage(const News& news, double& pages_in_directory, double& pages_in_landmark);

  /// Landmarks behind `after`, up to and including `last`.
  uint64_t LandmarksBetween(const std::string& after, const std::string& last) const;
  size_t landmarks() const { return landmarks_.size(); }
  /// Notes, before the first page, how far landmarks are from each other.
  void LearnDistance(double pages) { whole_landmarks_.Note(pages); }
  bool has_even_landmarks() const { return !landmarks_.empty() && landmarks_kind_ == Landmarks::kEven; }
  bool IsLandmark(const std::string& point) const;
  /// Pages from a landmark to the next one on average, as far as is known.
  double LandmarkPages() const { return whole_landmarks_.count() > 0 ? whole_landmarks_.value() : 1; }
  /// Guesses how many pages the stretch holds. May be wrong by any factor.
  double Pages(const KeyStretch& stretch) const;
  /// Proposes up to `count` points, strictly increasing within the stretch, that split it into parts of
  /// `part` pages each, or, where its length can hardly be guessed, into parts that grow by a constant
  /// factor: one of them is near the truth.
  std::vector<std::string> SplitPoints(const KeyStretch& stretch, int count, double part) const;

 private:
  struct Layout;
  class PointList;

  void FindLeaves();
  double PagesBehind(size_t landmark) const;
  double SubtreePages(size_t depth) const;
  std::pair<double, KeyRuler::Below> SiblingPages(absl::string_view directory,
                                                  std::optional<double> usual) const;
  double LandmarkPages(size_t first, size_t last) const;
  void LearnDirectories(const News& news, double& pages_in_directory);
  void LearnLandmarks(const News& news, double& pages_in_landmark);
  void Measure(const KeyStretch& stretch, Layout& layout) const;
  void MeasureGap(const KeyStretch& stretch, Layout& layout) const;
  std::optional<double> UsualDirectoryPages() const;
  std::optional<std::string> EndOfLandmark(const KeyStretch& stretch, size_t next_landmark) const;
  bool WithinEvenLandmark(const KeyStretch& stretch) const;
  bool Implausible(double pages) const;
  void AddRegularPoints(const Layout& layout, int count, double part, PointList& points) const;
  void AddScalePoints(const Layout& layout, int count, double part, PointList& points) const;
  void AddLandmarkPoints(const Layout& layout, int count, double part, double begin, PointList& points) const;

  const std::string prefix_;
  const size_t prefix_symbols_;
  KeyAlphabet alphabet_;
  std::vector<std::string> landmarks_;  // Sorted.
  Landmarks landmarks_kind_ = Landmarks::kDirectories;
  // Landmarks with none within them, by their depth in the tree (all at 0 if they are at even distances):
  // where they are in landmarks_.
  std::vector<std::vector<size_t>> leaves_;
  std::vector<Mean> sub_directories_;  // Of a directory, by its depth.
  double pages_seen_ = 0;
  double directories_begun_ = 0;  // Directories whose first key has been seen.
  // Pages of those behind whose last key another has been seen. One that is larger than all others is not
  // among them until it ends, and so cannot make itself look usual.
  Mean whole_directories_;
  Mean whole_landmarks_;  // Pages from one landmark to the next.
};

}  // namespace bucketvol
