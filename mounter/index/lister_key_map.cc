#include "mounter/index/lister_key_map.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"

namespace bucketvol {
namespace {

// One key in so many teaches the alphabet; a prime, so that it does not fall into step with counters.
constexpr size_t kLearnEvery = 13;
// A stretch is hardly longer than so many times all that has been read; if it seems so, its end is only
// nominal.
constexpr double kPlausibleFactor = 40;
// So many landmarks within one page tell more about those that follow than all pages before.
constexpr uint64_t kEnoughPassed = 4;
// The shortest part that is worth a request of its own.
constexpr double kFirstScalePages = 2;

}  // namespace

void KeyMap::AddLandmarks(std::vector<std::string> points) {
  for (std::string& point : points) {
    if (!absl::StartsWith(point, prefix_)) continue;
    alphabet_.Learn(point);
    std::optional<std::string> fit = MakeSplitPoint(std::move(point), prefix_, std::nullopt);
    if (fit) landmarks_.push_back(*std::move(fit));
  }
  std::sort(landmarks_.begin(), landmarks_.end());
  landmarks_.erase(std::unique(landmarks_.begin(), landmarks_.end()), landmarks_.end());
}

void KeyMap::LearnPage(absl::Span<const ListedObject> objects, double pages, uint64_t landmarks_passed) {
  for (size_t i = 0; i < objects.size(); i += kLearnEvery) alphabet_.Learn(objects[i].key);
  if (!objects.empty()) alphabet_.Learn(objects.back().key);
  pages_seen_ += pages;
  landmarks_passed_ += landmarks_passed;
}

uint64_t KeyMap::LandmarksBetween(const std::string& after, const std::string& last) const {
  const auto begin = std::upper_bound(landmarks_.begin(), landmarks_.end(), after);
  return static_cast<uint64_t>(std::upper_bound(begin, landmarks_.end(), last) - begin);
}

bool KeyMap::Implausible(double pages) const { return pages > kPlausibleFactor * (pages_seen_ + 4); }

double KeyMap::PagesPerLandmark(const KeyStretch& stretch) const {
  if (stretch.landmarks_passed >= kEnoughPassed) return 1.0 / static_cast<double>(stretch.landmarks_passed);
  return (pages_seen_ + 1) / (static_cast<double>(landmarks_passed_) + 1);
}

// When the landmark before the stretch is a directory that the stretch begins in, the keys before the next
// landmark are all in that directory.
std::optional<std::string> KeyMap::EndOfDirectory(const KeyStretch& stretch, size_t next_landmark) const {
  if (next_landmark == 0) return std::nullopt;
  const std::string& landmark = landmarks_[next_landmark - 1];
  if (!absl::EndsWith(landmark, "/") || !absl::StartsWith(stretch.after, landmark)) return std::nullopt;
  return PrefixSuccessor(landmark);
}

KeyMap::Layout KeyMap::Measure(const KeyStretch& stretch) const {
  Layout layout;
  const auto first = std::upper_bound(landmarks_.begin(), landmarks_.end(), stretch.after);
  const auto last = stretch.end ? std::lower_bound(first, landmarks_.end(), *stretch.end) : landmarks_.end();
  layout.first = static_cast<size_t>(first - landmarks_.begin());
  layout.last = static_cast<size_t>(last - landmarks_.begin());
  layout.landmark_pages = PagesPerLandmark(stretch);
  layout.gap_end = layout.landmarks() > 0 ? std::optional(*first) : stretch.end;
  const std::optional<std::string> directory = EndOfDirectory(stretch, layout.first);
  if (directory && (!layout.gap_end || *directory < *layout.gap_end)) layout.gap_end = directory;
  layout.gap_pages = layout.landmark_pages;
  if (stretch.page.keys > 0) {
    const double measured = KeyRuler(alphabet_, stretch.page, prefix_.size(), layout.gap_end).pages();
    const bool within_gap = stretch.landmarks_passed == 0;
    layout.gap_pages = within_gap ? measured : std::min(measured, layout.landmark_pages);
  }
  return layout;
}

double KeyMap::Pages(const KeyStretch& stretch) const { return Measure(stretch).pages(); }

std::vector<std::string> KeyMap::SplitPoints(const KeyStretch& stretch, int count, double part) const {
  const Layout layout = Measure(stretch);
  std::vector<std::string> points;
  const bool has_landmarks = layout.landmarks() > 0;
  if (stretch.page.keys > 0 && Implausible(layout.gap_pages)) {
    const int in_gap = has_landmarks ? std::max(1, count * 2 / 3) : count;
    AddScalePoints(stretch, layout, in_gap, points);
    const double spacing =
        static_cast<double>(layout.landmarks()) * layout.landmark_pages / (count - in_gap + 1);
    AddLandmarkPoints(stretch, layout, count - in_gap, std::max(part, spacing), 0, points);
  } else {
    const int in_gap =
        stretch.page.keys == 0 ? 0 : std::min(count, static_cast<int>(layout.gap_pages / part));
    AddGapPoints(stretch, layout, in_gap, part, points);
    const double begin = (in_gap + 1) * part - layout.gap_pages;
    AddLandmarkPoints(stretch, layout, count - in_gap, part, std::max(0.0, begin), points);
  }
  return points;
}

void KeyMap::AddGapPoints(const KeyStretch& stretch, const Layout& layout, int count, double part,
                          std::vector<std::string>& points) const {
  const KeyRuler ruler(alphabet_, stretch.page, prefix_.size(), layout.gap_end);
  for (int i = 1; i <= count; ++i) {
    std::optional<std::string> point = ruler.PointAt(i * part);
    if (!point) break;
    point = MakeSplitPoint(*std::move(point), points.empty() ? stretch.after : points.back(), stretch.end);
    if (point) points.push_back(*std::move(point));
  }
}

void KeyMap::AddScalePoints(const KeyStretch& stretch, const Layout& layout, int count,
                            std::vector<std::string>& points) const {
  const KeyRuler ruler(alphabet_, stretch.page, prefix_.size(), layout.gap_end);
  const auto add = [&](std::optional<std::string> point) {
    if (!point) return;
    point = MakeSplitPoint(*std::move(point), points.empty() ? stretch.after : points.back(), stretch.end);
    if (point) points.push_back(*std::move(point));
  };
  std::optional<std::string> beyond = ruler.PointBeyond();
  if (beyond && count > 1) --count;
  const double factor = std::pow(ruler.pages() / kFirstScalePages, 1.0 / count);
  double pages = kFirstScalePages;
  for (int i = 0; i < count; ++i, pages *= factor) add(ruler.PointAt(pages));
  add(std::move(beyond));
}

// Takes the landmark at every `part` pages, the first one `begin` pages behind the first landmark.
void KeyMap::AddLandmarkPoints(const KeyStretch& stretch, const Layout& layout, int count, double part,
                               double begin, std::vector<std::string>& points) const {
  size_t next = layout.first;
  for (int i = 0; i < count && next < layout.last; ++i) {
    const double steps = (begin + i * part) / layout.landmark_pages;
    const size_t index = std::max(next, layout.first + static_cast<size_t>(std::min(steps, 1e9)));
    if (index >= layout.last) break;
    const std::string& landmark = landmarks_[index];
    next = index + 1;
    if (landmark > (points.empty() ? stretch.after : points.back())) points.push_back(landmark);
  }
  // Behind the last landmark there may be anything.
  const bool ends_openly = layout.landmarks() > 0 && !stretch.end && count > 0;
  if (ends_openly && !points.empty() && points.back() < landmarks_[layout.last - 1]) {
    points.back() = landmarks_[layout.last - 1];
  }
}

}  // namespace bucketvol
