#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "mounter/index/lister_key_space.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// A stretch of key space: what lies behind `after` up to `end`, next to the page read last.
struct KeyStretch {
  const std::string& after;               // Exclusive.
  const std::optional<std::string>& end;  // nullopt: to the end of the prefix.
  const PageSpan& page;                   // Ends at `after`; `keys` is 0 when nothing has been read here.
  uint64_t landmarks_passed = 0;          // By that page.
};

/// Everything that is known of where the keys of a bucket lie, and the guesses made from it: how many pages a
/// stretch holds and where to split it.
///
/// Two sources: landmarks (real points of the key space: hints of an earlier listing, directories seen in a
/// listing with a delimiter) and, between them, the alphabet of the keys seen. Not thread-safe.
class KeyMap {
 public:
  explicit KeyMap(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Takes points into the map. Points that cannot serve as start-after, or lie outside of the prefix, are
  /// left out.
  void AddLandmarks(std::vector<std::string> points);
  /// Learns from a page of which the first `kept` objects belong to the stretch that was read.
  void LearnPage(absl::Span<const ListedObject> objects, double pages, uint64_t landmarks_passed);
  /// Landmarks behind `after`, up to and including `last`.
  uint64_t LandmarksBetween(const std::string& after, const std::string& last) const;

  /// Guesses how many pages the stretch holds. May be wrong by any factor.
  double Pages(const KeyStretch& stretch) const;
  /// Proposes up to `count` points, strictly increasing within the stretch, that split it into parts of
  /// `part` pages each, or, where its length can hardly be guessed, into parts that grow by a constant
  /// factor: one of them is near the truth.
  std::vector<std::string> SplitPoints(const KeyStretch& stretch, int count, double part) const;

 private:
  struct Layout {
    size_t first = 0;  // Landmarks [first, last) lie within the stretch.
    size_t last = 0;
    std::optional<std::string> gap_end;  // Where the gap before the first of them ends.
    double gap_pages = 0;
    double landmark_pages = 0;  // Behind each landmark.

    size_t landmarks() const { return last - first; }
    double pages() const { return gap_pages + static_cast<double>(landmarks()) * landmark_pages; }
  };

  Layout Measure(const KeyStretch& stretch) const;
  double PagesPerLandmark(const KeyStretch& stretch) const;
  std::optional<std::string> EndOfDirectory(const KeyStretch& stretch, size_t next_landmark) const;
  bool Implausible(double pages) const;
  void AddGapPoints(const KeyStretch& stretch, const Layout& layout, int count, double part,
                    std::vector<std::string>& points) const;
  void AddScalePoints(const KeyStretch& stretch, const Layout& layout, int count,
                      std::vector<std::string>& points) const;
  void AddLandmarkPoints(const KeyStretch& stretch, const Layout& layout, int count, double part,
                         double begin, std::vector<std::string>& points) const;

  const std::string prefix_;
  KeyAlphabet alphabet_;
  std::vector<std::string> landmarks_;  // Sorted.
  double pages_seen_ = 0;
  uint64_t landmarks_passed_ = 0;
};

}  // namespace bucketvol
