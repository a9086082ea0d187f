#include "mounter/index/lister_core.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/lister_page_check.h"
#include "mounter/index/run_rows.h"
#include "mounter/objstore/store_error.h"

namespace bucketvol {
namespace {

// The service gets so many chances to answer one request well.
constexpr int kTries = 3;
constexpr int kMostEmptyPages = 1000;  // In a row, for one interval.
constexpr absl::Duration kRest = absl::Milliseconds(250);
// Packed rows of 60-byte keys take about so much.
constexpr double kUsualRowBytes = 50;
// All streams are seldom as far ahead as they may be at the same time.
constexpr double kOverbooking = 1.6;
// So many pages of the leftmost interval wait as they came; more are packed.
constexpr size_t kWholePages = 4;
IntervalTableSettings TableSettings(const ListerSettings& settings) {
  const double page_bytes = kUsualRowBytes * settings.page_keys;
  return {.prefix = settings.prefix,
          .page_keys = settings.page_keys,
          .read_ahead_pages = kOverbooking * static_cast<double>(settings.memory_bytes) / page_bytes};
}

}  // namespace

struct ListerCore::Answer {
  Interval* interval;
  absl::Duration asked;
  absl::Duration answered;
  absl::StatusOr<ListPage> page;
  // As they were when the answer was looked at.
  std::string after;
  std::optional<std::string> end;
  bool is_front = false;
};

ListerCore::ListerCore(ObjectStore& store, const Clock& clock, Executor& executor, ListerSettings settings,
                       ListerProgress& progress)
    : store_(store),
      clock_(clock),
      executor_(executor),
      settings_(std::move(settings)),
      progress_(progress),
      spill_(settings_.spill_directory, settings_.spill_bytes),
      table_(TableSettings(settings_)),
      streams_(settings_.min_streams, settings_.max_streams, settings_.first_streams) {}

void ListerCore::Start() {
  {
    absl::MutexLock lock(&mu_);
    table_.AddLandmarks(settings_.hints, KeyMap::Landmarks::kEven);
    if (settings_.keys_per_hint > 0) {
      table_.LearnDistance(static_cast<double>(settings_.keys_per_hint) / settings_.page_keys);
    }
    first_landmarks_out_ = settings_.hints.empty() && settings_.max_streams > 1;
    if (first_landmarks_out_) landmark_queries_.push_back({.prefix = settings_.prefix, .first = true});
  }
  executor_.Post([self = shared_from_this()] { self->Pump(); });
}

absl::StatusOr<std::optional<Batch>> ListerCore::Next() {
  while (true) {
    std::optional<Batch> batch;
    bool room = false;
    {
      absl::MutexLock lock(&mu_);
      DropFinishedLocked();
      if (!status_.ok()) return status_;
      if (table_.empty()) return std::nullopt;
      batch = TakeBatchLocked();
      room = HasRoomAgainLocked();
      if (!batch && !room) changed_.Wait(&mu_);
    }
    if (room) Pump();
    if (batch) return batch;
  }
}

void ListerCore::DropFinishedLocked() {
  while (!table_.empty() && table_.front().state == Interval::State::kDone &&
         table_.front().run.batches.empty()) {
    spill_.Close(table_.front().run.writer);
    table_.PopFront();
  }
}

std::optional<Batch> ListerCore::TakeBatchLocked() {
  std::deque<Batch>& batches = table_.front().run.batches;
  if (batches.empty()) return std::nullopt;
  Batch batch = std::move(batches.front());
  batches.pop_front();
  held_bytes_ -= batch.held_bytes();
  return batch;
}

// Whether to go on asking, after it was stopped for want of room. The leftmost interval may always go on when
// its keys have been taken: without it nothing would ever leave.
bool ListerCore::HasRoomAgainLocked() {
  if (!held_back_) return false;
  const Interval& front = table_.front();
  const bool front_starves = front.state == Interval::State::kWaiting && front.run.batches.empty();
  return front_starves || held_bytes_ < settings_.memory_bytes / 4 * 3;
}

absl::Status ListerCore::ReadRows(const Batch& batch, std::string& rows) {
  return spill_.Read(batch.spilled, rows);
}

void ListerCore::Stop(const absl::Status& reason) {
  {
    absl::MutexLock lock(&mu_);
    if (status_.ok()) status_ = reason;
    changed_.SignalAll();
  }
  stop_->Cancel();
}

void ListerCore::AwaitQuiet() {
  absl::MutexLock lock(&mu_);
  while (in_flight_ > 0) changed_.Wait(&mu_);
}

void ListerCore::Pump() {
  Outgoing outgoing;
  {
    absl::MutexLock lock(&mu_);
    outgoing = PlanLocked();
  }
  Send(std::move(outgoing));
}

void ListerCore::Send(Outgoing outgoing) {
  for (auto& [interval, request] : outgoing.pages) Ask(interval, std::move(request));
  for (LandmarkQuery& query : outgoing.landmarks) AskForLandmarks(std::move(query));
}

ListerCore::Outgoing ListerCore::PlanLocked() {
  if (!status_.ok() || table_.empty()) return {};
  Outgoing outgoing;
  held_back_ = held_bytes_ >= settings_.memory_bytes && spill_.full();
  const bool seeding = first_landmarks_out_ && pages_ < 2;
  std::vector<Interval*> chosen;
  if (held_back_ || seeding) {
    const bool may_ask = in_flight_ < streams_.limit() && (seeding || table_.front().run.batches.empty());
    if (Interval* front = may_ask ? table_.PlanFront() : nullptr) chosen.push_back(front);
  }
  while (!landmark_queries_.empty() && in_flight_ < streams_.limit() && !held_back_) {
    outgoing.landmarks.push_back(NextLandmarkQueryLocked());
    CountRequestLocked();
  }
  if (!held_back_ && !seeding) {
    chosen = table_.Plan(streams_.limit() - in_flight_, streams_.limit(), clock_.Elapsed());
  }
  for (Interval* interval : chosen) {
    outgoing.pages.emplace_back(interval, RequestFor(*interval));
    CountRequestLocked();
  }
  return outgoing;
}

void ListerCore::CountRequestLocked() {
  ++in_flight_;
  const auto streams = static_cast<uint32_t>(in_flight_);
  progress_.requests.fetch_add(1, std::memory_order_relaxed);
  progress_.streams.store(streams, std::memory_order_relaxed);
  if (streams > progress_.streams_peak.load(std::memory_order_relaxed)) progress_.streams_peak.store(streams);
}

ListRequest ListerCore::RequestFor(const Interval& interval) {
  ListRequest request;
  request.prefix = settings_.prefix;
  if (interval.ask_with_token) {
    request.continuation_token = interval.token;
  } else {
    request.start_after = interval.after;
  }
  request.max_keys = settings_.page_keys;
  request.deadline = streams_.Deadline() * (1 << std::min(interval.tries, kTries));
  request.cancellation = stop_;
  return request;
}

void ListerCore::Ask(Interval* interval, ListRequest request) {
  const absl::Duration asked = clock_.Elapsed();
  store_.List(std::move(request), [self = shared_from_this(), interval,
                                   asked](absl::StatusOr<ListPage> page) {
    Answer answer{
        .interval = interval, .asked = asked, .answered = self->clock_.Elapsed(), .page = std::move(page)};
    self->executor_.Post([self, answer = std::move(answer)]() mutable { self->Process(std::move(answer)); });
  });
}

void ListerCore::Process(Answer answer) {
  Interval& interval = *answer.interval;
  bool stopped;
  {
    absl::MutexLock lock(&mu_);
    interval.state = Interval::State::kReading;
    stopped = !status_.ok();
    answer.after = interval.after;
    answer.end = interval.end;
    answer.is_front = &interval == &table_.front() && interval.run.batches.size() < kWholePages;
  }
  if (!stopped) {
    if (!answer.page.ok()) {
      OnError(interval, answer.page.status());
    } else if (absl::Status fault = CheckListPage(settings_.prefix, answer.after, *answer.page);
               !fault.ok()) {
      OnFault(interval, fault);
    } else if (answer.page->objects.empty() && answer.page->truncated) {
      OnEmptyPage(interval, *std::move(answer.page));
    } else {
      OnPage(std::move(answer));
    }
  }
  Finish();
}

// The last step of every answer: lets the next requests go.
void ListerCore::Finish() {
  Outgoing outgoing;
  {
    absl::MutexLock lock(&mu_);
    --in_flight_;
    progress_.streams.store(static_cast<uint32_t>(in_flight_), std::memory_order_relaxed);
    outgoing = PlanLocked();
    changed_.SignalAll();
  }
  Send(std::move(outgoing));
}

void ListerCore::OnError(Interval& interval, const absl::Status& error) {
  const std::optional<StoreError> words = StoreErrorOf(error);
  absl::ReleasableMutexLock lock(&mu_);
  if (words && words->throttled) streams_.OnThrottled();
  if (error.code() == absl::StatusCode::kInvalidArgument && !interval.after.empty()) {
    if (table_.Retract(interval)) return;
    if (!interval.ask_with_token && !interval.token.empty()) {
      tokens_only_ = true;
      interval.ask_with_token = true;
      interval.state = Interval::State::kWaiting;
      return;
    }
  }
  // Before the first key a wrong option is likelier than an outage, and the store has tried again by itself.
  if (IsRetryable(error) && interval.tries < kTries && progress_.keys.load(std::memory_order_relaxed) > 0) {
    RestAndTryAgain(interval);
    return;
  }
  lock.Release();
  Stop(error);
}

void ListerCore::RestAndTryAgain(Interval& interval) {
  interval.state = Interval::State::kResting;
  const absl::Duration rest = kRest * (1 << interval.tries++);
  executor_.PostAfter(rest, [weak = weak_from_this(), &interval] {
    const std::shared_ptr<ListerCore> self = weak.lock();
    if (self == nullptr) return;
    {
      absl::MutexLock lock(&self->mu_);
      if (!self->status_.ok()) return;
      interval.state = Interval::State::kWaiting;
    }
    self->Pump();
  });
}

void ListerCore::OnFault(Interval& interval, const absl::Status& fault) {
  {
    absl::MutexLock lock(&mu_);
    interval.state = Interval::State::kWaiting;
    if (++interval.tries < kTries) return;
  }
  Stop(fault);
}

// A service may say "there is more" without showing any of it, by mistake or because it passed over deleted
// keys. Asked again it often does better; if it insists, its token leads on, as long as that changes.
void ListerCore::OnEmptyPage(Interval& interval, ListPage page) {
  std::string after;
  {
    absl::MutexLock lock(&mu_);
    interval.state = Interval::State::kWaiting;
    if (++interval.tries < kTries) return;
    const bool leads_on = !page.next_token.empty() && page.next_token != interval.token;
    if (leads_on && ++interval.empty_pages <= kMostEmptyPages) {
      interval.token = std::move(page.next_token);
      interval.ask_with_token = true;
      interval.tries = 0;
      return;
    }
    after = interval.after;
  }
  Stop(absl::DataLossError(absl::StrCat("the service says that there are more keys, but lists none after \"",
                                        Printable(after), "\"")));
}

void ListerCore::OnPage(Answer answer) {
  Interval& interval = *answer.interval;
  ListPage& page = *answer.page;
  const size_t kept = CountUpTo(page, answer.end);
  const IntervalTable::PageNews news{.kept = absl::MakeSpan(page.objects).first(kept),
                                     .first = page.objects.empty() ? "" : page.objects.front().key,
                                     .received = page.objects.size(),
                                     .truncated = page.truncated};
  if (EndsTooEarly(interval, news)) return;
  std::string token = std::move(page.next_token);
  // If the batch takes the page, the objects stay where they are.
  absl::StatusOr<Batch> batch = MakeBatch(interval, page, kept, answer.is_front);
  if (!batch.ok()) return Stop(batch.status());

  absl::MutexLock lock(&mu_);
  table_.TakePage(interval, news);
  interval.token = std::move(token);
  interval.ask_with_token = tokens_only_ && !interval.token.empty();
  ++pages_;
  streams_.OnPage(answer.answered - answer.asked, clock_.Elapsed() - answer.asked);
  progress_.keys.fetch_add(kept, std::memory_order_relaxed);
  if (kept == 0) return;
  held_bytes_ += batch->held_bytes();
  interval.run.batches.push_back(*std::move(batch));
}

// A page that says "this is the end" although keys have been seen behind it is asked for again. If the
// service insists, the others have been deleted meanwhile.
bool ListerCore::EndsTooEarly(Interval& interval, const IntervalTable::PageNews& news) {
  if (news.truncated || news.received > news.kept.size()) return false;
  absl::MutexLock lock(&mu_);
  if (interval.tries + 1 >= kTries || !table_.HasKeysBehind(interval)) return false;
  ++interval.tries;
  interval.state = Interval::State::kWaiting;
  return true;
}

absl::StatusOr<Batch> ListerCore::MakeBatch(Interval& interval, ListPage& page, size_t count,
                                            bool keep_page) {
  Batch batch;
  batch.count = count;
  if (keep_page || count == 0) {
    batch.page = std::make_unique<ListPage>(std::move(page));
    return batch;
  }
  std::string rows;
  PackRows(absl::MakeSpan(page.objects).first(count), rows);
  bool spill;
  {
    absl::MutexLock lock(&mu_);
    spill = held_bytes_ + rows.size() > settings_.memory_bytes && !spill_.full();
  }
  if (spill) {
    ASSIGN_OR_RETURN(batch.spilled, spill_.Write(interval.run.writer, rows));
  } else {
    batch.rows = std::string(rows);  // Without the room that packing needed.
  }
  return batch;
}

}  // namespace bucketvol
