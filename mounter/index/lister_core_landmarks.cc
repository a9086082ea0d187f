// What the core does to learn of directories before it reads them: listings with a delimiter.
#include <algorithm>

#include "mounter/index/lister_core.h"

namespace bucketvol {
namespace {

// A level of the tree with at most so many directories says too little about where the keys are: ask for the
// next as well.
constexpr size_t kFewDirectories = 8;
constexpr size_t kMostLandmarkQueries = 12;
constexpr double kPagesPerLandmarkQuery = 100;
constexpr size_t kMostLandmarks = 100'000;

// Whether a listing with a delimiter has come to the end of the directories: to its own end, or to a long row
// of names behind them.
bool ShowsAllDirectories(const ListPage& page) {
  if (!page.truncated) return true;
  const absl::string_view last = page.common_prefixes.empty() ? "" : page.common_prefixes.back();
  const auto names = std::upper_bound(page.objects.begin(), page.objects.end(), last,
                                      [](absl::string_view a, const ListedObject& b) { return a < b.key; });
  const size_t entries = page.objects.size() + page.common_prefixes.size();
  return 2 * static_cast<size_t>(page.objects.end() - names) > entries;
}

}  // namespace

ListerCore::LandmarkQuery ListerCore::NextLandmarkQueryLocked() {
  LandmarkQuery query = std::move(landmark_queries_.back());
  landmark_queries_.pop_back();
  query.asked = clock_.Elapsed();
  ++landmarks_out_;
  table_.CountExtraRequest();
  table_.ExpectLandmarks(true);
  return query;
}

void ListerCore::AskForLandmarks(LandmarkQuery query) {
  ListRequest request{.prefix = query.prefix,
                      .start_after = query.start_after,
                      .delimiter = "/",
                      .max_keys = settings_.page_keys,
                      .cancellation = stop_};
  auto done = [self = shared_from_this(), query = std::move(query)](absl::StatusOr<ListPage> page) {
    self->executor_.Post(
        [self, query, page = std::move(page)]() mutable { self->ProcessLandmarks(query, std::move(page)); });
  };
  store_.List(std::move(request), std::move(done));
}

void ListerCore::ProcessLandmarks(const LandmarkQuery& query, absl::StatusOr<ListPage> page) {
  {
    absl::MutexLock lock(&mu_);
    if (query.first) first_landmarks_out_ = false;
    --landmarks_out_;
    const absl::Duration taken = clock_.Elapsed() - query.asked;
    if (page.ok()) streams_.OnPage(taken, taken);
    // What this request fails of, the listing itself will fail of as well.
    if (page.ok() && status_.ok() && !table_.finished()) {
      if (query.start_after.empty() && ShowsAllDirectories(*page)) {
        table_.LearnWhole(query.prefix, page->common_prefixes.size());
      }
      table_.AddLandmarks({page->common_prefixes.begin(), page->common_prefixes.end()},
                          KeyMap::Landmarks::kDirectories);
      FollowUpLocked(query, *page);
    }
    table_.ExpectLandmarks(landmarks_out_ > 0 || !landmark_queries_.empty());
  }
  Finish();
}

// What else to ask for. A level with few directories says too little: then those below it, and those on the
// way to the first key. A level with very many goes on as long as a page of them stands for many pages of
// keys.
void ListerCore::FollowUpLocked(const LandmarkQuery& query, const ListPage& page) {
  std::vector<LandmarkQuery>& more = landmark_queries_;
  const size_t found = page.common_prefixes.size();
  if (query.first && !page.truncated && found <= kFewDirectories) {
    for (const absl::string_view prefix : page.common_prefixes)
      more.push_back({.prefix = std::string(prefix)});
    const std::string& key = table_.front().after;
    size_t slash = key.find('/', query.prefix.size());
    while (slash != std::string::npos && more.size() < kMostLandmarkQueries) {
      slash = key.find('/', slash + 1);
      if (slash != std::string::npos) more.push_back({.prefix = key.substr(0, slash + 1)});
    }
  }
  const bool worth_it = table_.map().LandmarkPages() * static_cast<double>(found) > kPagesPerLandmarkQuery;
  if (page.truncated && worth_it && table_.map().landmarks() < kMostLandmarks) {
    more.push_back({.prefix = query.prefix, .start_after = std::string(page.common_prefixes.back())});
    more.back().start_after.back() = '/' + 1;
  }
}

}  // namespace bucketvol
