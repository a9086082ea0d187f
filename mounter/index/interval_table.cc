#include "mounter/index/interval_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include "absl/strings/match.h"

namespace bucketvol {
namespace {

// A part of fewer pages is not worth the page that is cut in two where it ends.
constexpr double kLeastPartPages = 1.5;
// Stretches are cut about so often until they are read: to give all streams work, and to keep it even at the
// end.
constexpr double kCutsPerStretch = 2;
// No interval is taken to be longer than so many times what has been read, and some pages: guesses may be
// without measure.
constexpr double kForesight = 2;
constexpr double kForesightPages = 4;
// Requests that may be lost by splitting: this share of the useful ones and so many per stream.
constexpr double kLostShare = 0.035;
constexpr double kLostShareStarving = 0.05;  // When there is little else to do.
constexpr double kLostPerStream = 1.5;
// This share of it is kept for landmarks while they are on their way: splits at them are hardly lost, splits
// made without them often are.
constexpr double kKeptForLandmarks = 0.5;
// While most streams have nothing to do, every page earns more, so that no bucket, however odd, is listed by
// a few streams to its end.
constexpr double kEarnedWhenStarving = 0.2;
// When this share of the streams has nothing to do, the longest stretches are halved for them, as long as so
// many requests per stream may still be lost: guesses that are wrong must not use up what other splits need.
constexpr double kIdleShare = 0.25;
constexpr double kHalvingReserve = 0.5;
constexpr double kLeastHalvedPages = 3;
// What a split costs on average: the cut page, and now and then an empty part.
constexpr double kSplitCost = 0.7;
// An interval that is so many times longer than foretold, and so many pages, shows that the map is wrong
// there.
constexpr double kOverdueFactor = 2;
constexpr double kOverduePages = 8;
// Nobody knows how far an interval without an end goes: no more points at once.
constexpr int kMostOpenPoints = 16;
// So many splits in a row that found nothing: leave the interval alone for a while.
constexpr int kMissedSplits = 3;
constexpr absl::Duration kSplitPause = absl::Seconds(1);

}  // namespace

IntervalTable::IntervalTable(IntervalTableSettings settings)
    : settings_(std::move(settings)), map_(settings_.prefix) {
  Interval& whole = intervals_.emplace_back();
  whole.id = next_id_++;
  by_id_.emplace(whole.id, &whole);
}

void IntervalTable::AddLandmarks(const std::vector<std::string>& points, KeyMap::Landmarks kind) {
  map_.AddLandmarks(points, kind);
  for (Interval& interval : intervals_) {
    if (interval.state == Interval::State::kDone) continue;
    interval.due = Interval::kNotDue;
    Estimate(interval);
  }
}

bool IntervalTable::finished() const {
  return std::all_of(intervals_.begin(), intervals_.end(),
                     [](const Interval& interval) { return interval.state == Interval::State::kDone; });
}

void IntervalTable::PopFront() {
  const Interval& interval = intervals_.front();
  if (interval.keys > 0) last_key_ = interval.after;
  by_id_.erase(interval.id);
  intervals_.pop_front();
}

IntervalTable::Iterator IntervalTable::Find(const Interval& interval) {
  return std::find_if(intervals_.begin(), intervals_.end(),
                      [&](const Interval& other) { return other.id == interval.id; });
}

KeyStretch IntervalTable::StretchOf(const Interval& interval) const {
  return {
      interval.after, interval.end, interval.page, interval.pages_in_directory, interval.pages_in_landmark,
      interval.trust};
}

void IntervalTable::Estimate(Interval& interval) {
  if (interval.pages_read > interval.due) interval.trust = Trust::kNo;
  interval.pages_left = map_.Pages(StretchOf(interval));
  const double due = interval.pages_read + kOverdueFactor * interval.pages_left + kOverduePages;
  interval.due = std::min(interval.due, due);
}

Interval* IntervalTable::PlanFront() {
  if (empty() || front().state != Interval::State::kWaiting) return nullptr;
  front().state = Interval::State::kAsking;
  return &front();
}

// What splitting may still cost, when so many pages are yet to come.
double IntervalTable::Credit(double share, int streams, double pages) const {
  const double per_stream = kLostPerStream * (landmarks_expected_ ? 1 - kKeptForLandmarks : 1);
  return share * (useful_ + pages) + per_stream * streams + earned_ - lost_ - kSplitCost * probes_out_;
}

// How many pages one stream should have before it: an equal share of what is left; less where all that is
// read ahead could not be kept; but not so few that cutting everything to that length would cost too many
// requests.
double IntervalTable::PartPages(int limit) const {
  const double plausible = kForesight * (useful_ + kForesightPages);
  double guessed = 0;
  double pages = 0;
  for (const Interval& interval : intervals_) {
    if (interval.state == Interval::State::kDone) continue;
    guessed += std::max(interval.pages_left, 1.0);
    pages += std::clamp(interval.pages_left, 1.0, plausible);
  }
  const double longest = std::max(kLeastPartPages, settings_.read_ahead_pages / limit);
  const double credit = std::max(1.0, Credit(kLostShare, std::max(peak_, limit), pages));
  const double affordable = kCutsPerStretch * kSplitCost * pages / credit;
  return std::max(std::clamp(guessed / limit, kLeastPartPages, longest), affordable);
}

// Whether there is anything to say where it could be split: a page, or landmarks.
bool IntervalTable::Known(const Interval& interval) const {
  if (interval.page.keys > 0) return true;
  return interval.source == 0 && map_.Pages(StretchOf(interval)) > kLeastPartPages;
}

bool IntervalTable::MaySplit(const Interval& interval, absl::Duration now) const {
  const bool at_work =
      interval.state == Interval::State::kAsking || interval.state == Interval::State::kWaiting;
  return splitting_allowed_ && at_work && Known(interval) && interval.probes_out == 0 &&
         now >= interval.split_again;
}

// How many more intervals may be split off, with so many requests in flight and so many more wanted.
int IntervalTable::SplitBudget(int in_flight, int more) const {
  const int streams = std::max(peak_, in_flight + more);
  const bool starving = 4 * in_flight < streams;
  const double credit = Credit(starving ? kLostShareStarving : kLostShare, streams, 0);
  return std::max(0, static_cast<int>(credit / kSplitCost));
}

std::vector<Interval*> IntervalTable::Plan(int idle, int limit, absl::Duration now) {
  std::vector<Interval*> chosen;
  now_ = now;
  const auto left = [&] { return idle - static_cast<int>(chosen.size()); };
  const double part = PartPages(limit);
  for (auto it = intervals_.begin(); it != intervals_.end() && left() > 0; ++it) {
    if (it->state == Interval::State::kWaiting) {
      it->state = Interval::State::kAsking;
      chosen.push_back(&*it);
    }
    const double parts = std::min(it->pages_left / part, 1e6);
    if (parts < 2 || left() == 0 || !MaySplit(*it, now)) continue;
    const bool measured = it->end || map_.has_even_landmarks();
    const int most = measured ? left() : std::min(left(), kMostOpenPoints);
    const int wanted = std::min(static_cast<int>(parts) - 1, most);
    const int count = std::min(wanted, SplitBudget(limit - left(), wanted));
    if (count > 0) Split(it, count, std::min(it->pages_left / (count + 1), part), chosen);
  }
  if (left() > kIdleShare * limit) Halve(left(), limit, chosen);
  const int in_flight = limit - left();
  peak_ = std::max(peak_, in_flight);
  starving_ = 4 * in_flight < limit;
  return chosen;
}

void IntervalTable::Halve(int idle, int limit, std::vector<Interval*>& chosen) {
  std::vector<Iterator> long_ones;
  for (auto it = intervals_.begin(); it != intervals_.end(); ++it) {
    if (it->pages_left >= kLeastHalvedPages && MaySplit(*it, now_)) long_ones.push_back(it);
  }
  std::stable_sort(long_ones.begin(), long_ones.end(),
                   [](Iterator a, Iterator b) { return a->pages_left > b->pages_left; });
  for (const Iterator it : long_ones) {
    const int in_flight = limit - idle;
    const double reserve = kHalvingReserve * std::max(peak_, in_flight);
    if (idle == 0 || SplitBudget(in_flight, 1) < 1 + reserve) return;
    const size_t before = chosen.size();
    Split(it, 1, it->pages_left / 2, chosen);
    idle -= static_cast<int>(chosen.size() - before);
  }
}

void IntervalTable::Split(Iterator interval, int count, double part, std::vector<Interval*>& chosen) {
  const std::vector<std::string> points = map_.SplitPoints(StretchOf(*interval), count, part);
  if (points.empty()) {
    interval->split_again = now_ + kSplitPause;
    return;
  }
  const double pages = interval->pages_left;
  auto next = std::next(interval);
  const std::optional<std::string> end = std::exchange(interval->end, points.front());
  for (size_t i = 0; i < points.size(); ++i) {
    const Iterator made = intervals_.emplace(next);
    made->id = next_id_++;
    made->state = Interval::State::kAsking;
    made->after = points[i];
    made->begins_at_point = true;
    made->end = i + 1 < points.size() ? std::optional(points[i + 1]) : end;
    made->source = interval->id;
    const bool same_directory = absl::StartsWith(made->after, DirectoryOf(interval->after));
    const bool same_landmark = map_.LandmarksBetween(interval->after, made->after) == 0;
    made->pages_in_landmark = same_landmark ? interval->pages_in_landmark : 0;
    made->pages_in_directory = same_directory ? interval->pages_in_directory : 0;
    const double share = i + 1 < points.size() ? part : pages - part * static_cast<double>(points.size());
    const double guess = map_.IsLandmark(made->after) ? map_.Pages(StretchOf(*made)) : std::min(share, pages);
    made->pages_left = std::max(1.0, guess);
    by_id_.emplace(made->id, &*made);
    chosen.push_back(&*made);
  }
  interval->pages_left = std::min(part, pages);
  interval->due = Interval::kNotDue;
  interval->trust = Trust::kYes;
  interval->probes_out = static_cast<int>(points.size());
  interval->probe_hit = false;
  probes_out_ += interval->probes_out;
}

void IntervalTable::NoteProbe(Interval& interval, bool hit) {
  const uint64_t source_id = std::exchange(interval.source, 0);
  if (source_id == 0) return;
  --probes_out_;
  const auto found = by_id_.find(source_id);
  if (found == by_id_.end()) return;
  Interval& source = *found->second;
  source.probe_hit |= hit;
  if (--source.probes_out > 0) return;
  source.missed_splits = source.probe_hit ? 0 : source.missed_splits + 1;
  if (source.missed_splits < kMissedSplits) return;
  source.missed_splits = 0;
  source.split_again = now_ + kSplitPause;
}

void IntervalTable::CountPage(Interval& interval, const PageNews& news) {
  page_capacity_ = std::max(page_capacity_, news.received);
  const double kept = static_cast<double>(news.kept.size()) / static_cast<double>(page_capacity_);
  useful_ += kept;
  if (starving_) earned_ += kEarnedWhenStarving * kept;
  interval.pages_read += kept;
  lost_ += 1 - kept;
  map_.LearnPage({.stretch = StretchOf(interval),
                  .after_is_key = !interval.begins_at_point && !interval.after.empty(),
                  .objects = news.kept,
                  .first = news.first,
                  .pages = kept},
                 interval.pages_in_directory, interval.pages_in_landmark);
}

void IntervalTable::TakePage(Interval& interval, const PageNews& news) {
  const bool hit = !news.kept.empty();
  CountPage(interval, news);
  if (hit) {
    interval.page = PageSpan(std::exchange(interval.after, std::string(news.kept.back().key)), news.kept);
    interval.keys += news.kept.size();
    interval.begins_at_point = false;
    interval.split_again = -absl::InfiniteDuration();
    interval.tries = 0;
    interval.empty_pages = 0;
  }
  NoteProbe(interval, hit);
  const bool ended = news.received > news.kept.size() || !news.truncated ||
                     (interval.end && interval.after >= *interval.end);
  interval.state = ended ? Interval::State::kDone : Interval::State::kWaiting;
  interval.pages_left = 0;
  if (!ended) Estimate(interval);
}

bool IntervalTable::HasKeysBehind(const Interval& interval) const {
  for (auto it = intervals_.rbegin(); it != intervals_.rend() && it->id != interval.id; ++it) {
    if (it->keys > 0) return true;
  }
  return false;
}

bool IntervalTable::Retract(Interval& interval) {
  splitting_allowed_ = false;
  if (!interval.begins_at_point) return false;
  const Iterator it = Find(interval);
  const bool end_must_stay = it != intervals_.begin() && std::prev(it)->state == Interval::State::kReading;
  if (end_must_stay) {
    interval.state = Interval::State::kWaiting;  // And be refused again.
    return true;
  }
  NoteProbe(interval, false);
  lost_ += 1;
  if (it == intervals_.begin() || std::prev(it)->state == Interval::State::kDone) {
    // All before the point has been listed: begin again at the last key before it.
    std::string key = last_key_;
    for (auto left = intervals_.begin(); left != it; ++left) {
      if (left->keys > 0) key = left->after;
    }
    interval.after = std::move(key);
    interval.begins_at_point = false;
    interval.state = Interval::State::kWaiting;
    return true;
  }
  std::prev(it)->end = interval.end;
  by_id_.erase(interval.id);
  intervals_.erase(it);
  return true;
}

}  // namespace bucketvol
