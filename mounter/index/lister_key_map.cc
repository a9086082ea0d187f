#include "mounter/index/lister_key_map.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"

namespace bucketvol {
namespace {

// A stretch is hardly longer than so many times all that has been read; if it seems so, its end is only
// nominal.
constexpr double kPlausibleFactor = 40;
// So many directories must have been seen, whole or begun, to say how long they usually are.
constexpr double kEnoughWhole = 1;
constexpr double kEnoughBegun = 4;
// So many landmarks mean that their distance tells as much.
constexpr size_t kManyLandmarks = 8;
// A directory is taken to be like the others until it has proved to be longer by so much.
constexpr double kLongerThanUsual = 1.5;
constexpr double kLeastRead = 1.7;  // Pages
// More points than this tell no more about a scale.
constexpr int kMostScalePoints = 16;
// A landmark that should be so many times nearer is out of date.
constexpr double kOutOfDate = 2;
// The shortest part that is worth a request of its own.
constexpr double kFirstScalePages = 2;

// Directories deeper than this are not told apart.
constexpr size_t kMostDepths = 64;

bool StartsWithin(absl::string_view key, absl::string_view directory) {
  return absl::StartsWith(key, directory);
}

// How many directories a path to a directory goes through.
size_t DepthOf(absl::string_view directory) {
  return std::min(static_cast<size_t>(std::count(directory.begin(), directory.end(), '/')), kMostDepths);
}

}  // namespace

absl::string_view DirectoryOf(absl::string_view key) {
  const size_t slash = key.rfind('/');
  return slash == absl::string_view::npos ? absl::string_view() : key.substr(0, slash + 1);
}

// A stretch from left to right: `in_directory` pages by the ruler of the page, `outside` pages by the ruler
// of directories, then landmarks.
struct KeyMap::Layout {
  Layout() = default;
  Layout(const Layout&) = delete;  // The rulers borrow from it.
  Layout& operator=(const Layout&) = delete;

  size_t first = 0;  // Landmarks [first, last) lie within the stretch.
  size_t last = 0;
  bool ends_openly = false;
  double landmark_pages = 0;  // Behind all of them.

  Symbols directory;          // Without the "/" at its end.
  std::string directory_end;  // Where `outside` begins, if there is any.
  std::optional<KeyRuler> page_ruler;
  std::optional<KeyRuler> directory_ruler;
  double in_directory = 0;
  double outside = 0;

  double landmarks() const { return static_cast<double>(last - first); }
  double gap() const { return in_directory + outside; }
  double pages() const { return gap() + landmark_pages; }
};

// Collects split points that are fit and increase.
class KeyMap::PointList {
 public:
  explicit PointList(const KeyStretch& stretch) : stretch_(stretch) {}

  void Add(const std::optional<std::string>& candidate) {
    if (!candidate) return;
    std::optional<std::string> point =
        MakeSplitPoint(*candidate, points_.empty() ? stretch_.after : points_.back(), stretch_.end);
    if (point) points_.push_back(*std::move(point));
  }
  std::vector<std::string> Take() && { return std::move(points_); }
  bool empty() const { return points_.empty(); }
  std::string& back() { return points_.back(); }

 private:
  const KeyStretch& stretch_;
  std::vector<std::string> points_;
};

void KeyMap::AddLandmarks(const std::vector<std::string>& points, Landmarks kind) {
  landmarks_kind_ = kind;
  for (const std::string& point : points) {
    if (!absl::StartsWith(point, prefix_)) continue;
    alphabet_.Learn(point);
    std::optional<std::string> fit = MakeSplitPoint(point, prefix_, std::nullopt);
    if (fit) landmarks_.push_back(*std::move(fit));
  }
  std::sort(landmarks_.begin(), landmarks_.end());
  landmarks_.erase(std::unique(landmarks_.begin(), landmarks_.end()), landmarks_.end());
  FindLeaves();
}

void KeyMap::FindLeaves() {
  leaves_.clear();
  for (size_t i = 0; i < landmarks_.size(); ++i) {
    const bool even = landmarks_kind_ == Landmarks::kEven;
    if (!even && i + 1 < landmarks_.size() && StartsWithin(landmarks_[i + 1], landmarks_[i])) continue;
    const size_t depth = even ? 0 : DepthOf(landmarks_[i]);
    if (depth >= leaves_.size()) leaves_.resize(depth + 1);
    leaves_[depth].push_back(i);
  }
}

void KeyMap::LearnWhole(absl::string_view directory, size_t sub_directories) {
  const size_t depth = DepthOf(directory);
  if (depth >= kMostDepths) return;
  if (depth >= sub_directories_.size()) sub_directories_.resize(depth + 1);
  sub_directories_[depth].Note(static_cast<double>(sub_directories));
  if (sub_directories > 0) alphabet_.LearnWhole(directory);
}

bool KeyMap::IsLandmark(const std::string& point) const {
  return std::binary_search(landmarks_.begin(), landmarks_.end(), point);
}

// What a directory of this depth holds with all below it, if it is like those whose sub-directories have been
// listed.
double KeyMap::SubtreePages(size_t depth) const {
  if (landmarks_kind_ == Landmarks::kEven || depth >= sub_directories_.size()) return LandmarkPages();
  const Mean& below = sub_directories_[depth];
  if (below.count() == 0) return LandmarkPages();
  const double own = whole_directories_.count() > 0 ? whole_directories_.value() : 1;
  return below.value() > 0 ? own + below.value() * SubtreePages(depth + 1) : own;
}

// Pages behind the landmarks [first, last), each up to the next one.
double KeyMap::LandmarkPages(size_t first, size_t last) const {
  double pages = 0;
  for (size_t depth = 0; depth < leaves_.size(); ++depth) {
    const std::vector<size_t>& leaves = leaves_[depth];
    const auto begin = std::lower_bound(leaves.begin(), leaves.end(), first);
    const auto count = std::lower_bound(begin, leaves.end(), last) - begin;
    if (count > 0) pages += static_cast<double>(count) * SubtreePages(depth);
  }
  return pages;
}

// What a directory beside `directory` holds with all below it.
std::pair<double, KeyRuler::Below> KeyMap::SiblingPages(absl::string_view directory,
                                                        std::optional<double> usual) const {
  const size_t depth = DepthOf(directory);
  const bool known = depth < sub_directories_.size() && sub_directories_[depth].count() > 0;
  if (!known) return {usual.value_or(1), KeyRuler::Below::kUnknown};
  return {SubtreePages(depth), KeyRuler::Below::kLikeOthers};
}

double KeyMap::PagesBehind(size_t landmark) const { return LandmarkPages(landmark, landmark + 1); }

void KeyMap::LearnPage(const News& news, double& pages_in_directory, double& pages_in_landmark) {
  pages_seen_ += news.pages;
  LearnDirectories(news, pages_in_directory);
  LearnLandmarks(news, pages_in_landmark);
  const size_t step = LearningStep(news.objects.size());
  for (size_t i = 0; i < news.objects.size(); i += step) alphabet_.Learn(news.objects[i].key);
  if (!news.objects.empty()) alphabet_.Learn(news.objects.back().key);
}

void KeyMap::LearnDirectories(const News& news, double& pages_in_directory) {
  absl::string_view directory = DirectoryOf(news.stretch.after);
  const auto leave_for = [&](absl::string_view next) {
    whole_directories_.Note(pages_in_directory);
    alphabet_.LearnEnd(directory, next);
    pages_in_directory = 0;
    directory = next;
  };
  const absl::string_view first = DirectoryOf(news.first);
  if (!news.after_is_key && !news.first.empty()) alphabet_.LearnGap(news.stretch.after, news.first);
  if (news.after_is_key && first != directory) leave_for(first);
  if (first != directory) pages_in_directory = 0;
  // Where the page was asked for behind a point within a directory, the first key of that has not been seen.
  const bool begun = !news.objects.empty() && first != directory && !StartsWithin(news.stretch.after, first);
  if (begun || (news.after_is_key && pages_in_directory == 0)) ++directories_begun_;
  directory = first;
  const size_t step = LearningStep(news.objects.size());
  const double part =
      news.pages /
      std::max(1.0, std::ceil(static_cast<double>(news.objects.size()) / static_cast<double>(step)));
  for (size_t i = step; i < news.objects.size(); i += step) {
    pages_in_directory += part;
    const absl::string_view next = DirectoryOf(news.objects[i].key);
    if (next == directory) continue;
    ++directories_begun_;
    leave_for(next);
  }
  if (!news.objects.empty()) pages_in_directory += part;
}

void KeyMap::LearnLandmarks(const News& news, double& pages_in_landmark) {
  pages_in_landmark += news.pages;
  if (landmarks_.empty() || news.objects.empty()) return;
  const auto place = [&](absl::string_view key) {
    return std::upper_bound(
        landmarks_.begin(), landmarks_.end(), key,
        [](absl::string_view a, const std::string& b) { return a < absl::string_view(b); });
  };
  const auto first = place(news.stretch.after);
  const auto passed = static_cast<double>(place(news.first) - first) +
                      static_cast<double>(place(news.objects.back().key) - place(news.first));
  for (int i = 0; i < static_cast<int>(std::min(passed, 100.0)); ++i)
    whole_landmarks_.Note(pages_in_landmark / passed);
  if (passed > 0) pages_in_landmark = 0;
}

uint64_t KeyMap::LandmarksBetween(const std::string& after, const std::string& last) const {
  const auto begin = std::upper_bound(landmarks_.begin(), landmarks_.end(), after);
  return static_cast<uint64_t>(std::upper_bound(begin, landmarks_.end(), last) - begin);
}

bool KeyMap::Implausible(double pages) const { return pages > kPlausibleFactor * (pages_seen_ + 4); }

std::optional<double> KeyMap::UsualDirectoryPages() const {
  if (whole_directories_.count() >= kEnoughWhole) return whole_directories_.value();
  if (directories_begun_ >= kEnoughBegun) return 1;
  if (landmarks_.size() >= kManyLandmarks) return LandmarkPages();
  return std::nullopt;
}

// When the landmark before the stretch is a directory that the stretch begins in, the keys before the next
// landmark are all in that directory.
std::optional<std::string> KeyMap::EndOfLandmark(const KeyStretch& stretch, size_t next_landmark) const {
  if (next_landmark == 0) return std::nullopt;
  const std::string& landmark = landmarks_[next_landmark - 1];
  if (!absl::EndsWith(landmark, "/") || !StartsWithin(stretch.after, landmark)) return std::nullopt;
  return PrefixSuccessor(landmark);
}

void KeyMap::Measure(const KeyStretch& stretch, Layout& layout) const {
  const auto first = std::upper_bound(landmarks_.begin(), landmarks_.end(), stretch.after);
  const auto last = stretch.end ? std::lower_bound(first, landmarks_.end(), *stretch.end) : landmarks_.end();
  layout.first = static_cast<size_t>(first - landmarks_.begin());
  layout.last = static_cast<size_t>(last - landmarks_.begin());
  layout.landmark_pages = LandmarkPages(layout.first, layout.last);
  layout.ends_openly = !stretch.end;
  if (WithinEvenLandmark(stretch)) {
    layout.in_directory = std::max(0.0, LandmarkPages() - stretch.pages_in_landmark);
  } else if (stretch.page.keys > 0) {
    MeasureGap(stretch, layout);
  } else {
    layout.in_directory = IsLandmark(stretch.after) ? PagesBehind(layout.first - 1) : LandmarkPages();
  }
}

// Landmarks at even distances foretell how much lies before the next one, until they turn out to be out of
// date.
bool KeyMap::WithinEvenLandmark(const KeyStretch& stretch) const {
  return has_even_landmarks() && stretch.pages_in_landmark <= kOutOfDate * (LandmarkPages() + 1);
}

// Measures what lies before the first landmark.
void KeyMap::MeasureGap(const KeyStretch& stretch, Layout& layout) const {
  std::optional<std::string> gap_end =
      layout.landmarks() > 0 ? std::optional(landmarks_[layout.first]) : stretch.end;
  const std::optional<std::string> landmark_end = EndOfLandmark(stretch, layout.first);
  if (landmark_end && (!gap_end || *landmark_end < *gap_end)) gap_end = landmark_end;

  const absl::string_view directory = DirectoryOf(stretch.after);
  const bool page_within = StartsWithin(ToBytes(stretch.page.first), directory);
  const bool gap_within = gap_end && StartsWithin(*gap_end, directory);
  const bool at_root = directory.size() <= prefix_.size();
  const auto symbols = [](const std::optional<std::string>& key) {
    return key ? std::optional(ToSymbols(*key)) : std::nullopt;
  };
  if (!page_within || gap_within || at_root) {
    layout.page_ruler.emplace(
        KeyRuler::OfPage(alphabet_, stretch.trust, stretch.page, prefix_symbols_, symbols(gap_end)));
    layout.in_directory = layout.page_ruler->pages();
    return;
  }
  layout.directory_end = PrefixSuccessor(std::string(directory));
  layout.page_ruler.emplace(KeyRuler::OfPage(alphabet_, stretch.trust, stretch.page, prefix_symbols_,
                                             ToSymbols(layout.directory_end)));
  layout.in_directory = layout.page_ruler->pages();
  const std::optional<double> usual = UsualDirectoryPages();
  if (usual && stretch.pages_in_directory < std::max(kLeastRead, kLongerThanUsual * *usual)) {
    layout.in_directory = std::min(layout.in_directory, std::max(*usual - stretch.pages_in_directory, 0.0));
  }
  if (gap_end && *gap_end <= layout.directory_end) return;
  layout.directory = ToSymbols(directory.substr(0, directory.size() - 1));
  const auto [pages, below] = SiblingPages(directory, usual);
  layout.directory_ruler.emplace(KeyRuler::OfDirectory(alphabet_, stretch.trust, layout.directory,
                                                       std::max(pages, 1e-3), below, prefix_symbols_,
                                                       symbols(gap_end)));
  layout.outside = layout.directory_ruler->pages();
}

double KeyMap::Pages(const KeyStretch& stretch) const {
  Layout layout;
  Measure(stretch, layout);
  return layout.pages();
}

std::vector<std::string> KeyMap::SplitPoints(const KeyStretch& stretch, int count, double part) const {
  Layout layout;
  Measure(stretch, layout);
  PointList points(stretch);
  // Without a page there is no ruler, and nothing to make a scale of.
  if (layout.page_ruler && Implausible(layout.gap())) {
    AddScalePoints(layout, std::min(count, kMostScalePoints), part, points);
  } else {
    AddRegularPoints(layout, count, part, points);
  }
  std::vector<std::string> taken = std::move(points).Take();
  // A scale may end in a point more, behind everything.
  if (taken.size() > static_cast<size_t>(count)) taken.resize(static_cast<size_t>(count));
  return taken;
}

void KeyMap::AddRegularPoints(const Layout& layout, int count, double part, PointList& points) const {
  double at = part;
  int added = 0;
  for (; added < count && at < layout.gap() && layout.page_ruler; ++added, at += part) {
    const bool inside = at < layout.in_directory;
    if (inside) {
      points.Add(layout.page_ruler->PointAt(at));
    } else if (layout.directory_ruler) {
      points.Add(layout.directory_ruler->PointAt(at - layout.in_directory));
    }
  }
  AddLandmarkPoints(layout, count - added, part, std::max(0.0, at - layout.gap()), points);
}

void KeyMap::AddScalePoints(const Layout& layout, int count, double part, PointList& points) const {
  const auto add_scale = [&](const KeyRuler& ruler, double first, int share) {
    const std::optional<std::string> beyond = ruler.PointBeyond();
    if (beyond && share > 1) --share;
    const double factor = std::pow(std::max(ruler.pages() / first, 1.0), 1.0 / share);
    double pages = first;
    for (int i = 0; i < share; ++i, pages *= factor) points.Add(ruler.PointAt(pages));
    points.Add(beyond);
  };
  // Landmarks are certain, a scale is a guess.
  const int to_landmarks = std::min(static_cast<int>(layout.landmarks()), count * 2 / 3);
  const int in_gap = count - to_landmarks;
  int inside = layout.outside > 0 ? in_gap / 2 : in_gap;
  if (!Implausible(layout.in_directory) && layout.outside > 0) inside = 0;
  if (inside > 0) add_scale(*layout.page_ruler, kFirstScalePages, inside);
  const int outside = in_gap - inside;
  if (outside > 0 && layout.directory_ruler) {
    points.Add(layout.directory_end);
    if (outside > 1) add_scale(*layout.directory_ruler, 1.0, outside - 1);
  }
  const double spacing = layout.landmark_pages / (to_landmarks + 1);
  AddLandmarkPoints(layout, to_landmarks, std::max(part, spacing), 0, points);
}

// Takes the landmark at every `part` pages, the first one `begin` pages behind the first landmark.
void KeyMap::AddLandmarkPoints(const Layout& layout, int count, double part, double begin,
                               PointList& points) const {
  int added = 0;
  double at = 0;
  for (size_t i = layout.first; i < layout.last && added < count; ++i) {
    at += PagesBehind(i);
    if (at <= begin) continue;
    points.Add(landmarks_[i]);
    ++added;
    begin = std::max(begin + part, at);
  }
  // Behind the last landmark there may be anything.
  if (added > 0 && layout.ends_openly && points.back() < landmarks_[layout.last - 1]) {
    points.back() = landmarks_[layout.last - 1];
  }
}

}  // namespace bucketvol
