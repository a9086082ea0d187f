#include "test/prefetch/simulated_core.h"

#include <algorithm>
#include <utility>

namespace bucketvol {

SimulatedCore::SimulatedCore(SimulationSettings settings, std::vector<uint64_t> object_sizes)
    : settings_(settings),
      link_(settings.link),
      concurrency_(settings.concurrency),
      files_(FileSequenceSettings{.objects = object_sizes.size()}) {
  for (const uint64_t size : object_sizes) {
    objects_.push_back({size, StreamTable(size, settings.streams),
                        std::vector<int>((size + kChunk - 1) / kChunk, kAbsent),
                        std::vector<bool>((size + kChunk - 1) / kChunk)});
  }
}

int SimulatedCore::ActiveStreams() const {
  int streams = 0;
  if (objects_.size() > 100) return streams;  // Small ones, which have none.
  for (const Object& object : objects_) streams += object.table.active_streams();
  return streams;
}

Stall SimulatedCore::StallOf(const Object& object, ByteRange range) const {
  Stall stall = Stall::kNone;
  for (uint64_t chunk = range.begin / kChunk; chunk * kChunk < range.end; ++chunk) {
    if (object.chunks[chunk] == kAbsent) return Stall::kAbsent;
    if (object.chunks[chunk] >= 0) stall = Stall::kInflight;
  }
  return stall;
}

bool SimulatedCore::Ready(const TraceRead& read) const {
  return StallOf(objects_[read.object], read.range) == Stall::kNone;
}

void SimulatedCore::Issue(const TraceRead& read) {
  Object& object = objects_[read.object];
  const Stall stall = StallOf(object, read.range);
  ahead_ -= object.table.ScheduledAhead();
  LinkEstimate link = concurrency_.link();
  link.streams = ActiveStreams();
  const uint64_t share = settings_.budget / static_cast<uint64_t>(std::max(link.streams, 1));
  const Plan plan = object.table.Note(read.range, stall, link, {share, settings_.budget}, now_);
  Raise(read.object, read.range);
  Claim(read.object, plan.demand, Urgency::kDemand);
  for (const ByteRange& range : plan.ahead) Claim(read.object, range, Urgency::kPrefetch);
  ahead_ += object.table.ScheduledAhead();
  if (plan.new_stream) CancelAbandoned();
  if (settings_.across_files && !std::exchange(object.opened, true)) Open(read.object, stall);
}

void SimulatedCore::Open(size_t object, Stall stall) {
  for (const OrdinalRange& range : files_.OnOpen(object, stall, now_)) {
    for (uint64_t i = range.first; i < range.first + range.count; ++i)
      Claim(i, {0, objects_[i].size}, Urgency::kPrefetch);
  }
}

// What a reader waits for is prefetch no more.
void SimulatedCore::Raise(size_t object, ByteRange range) {
  for (uint64_t chunk = range.begin / kChunk; chunk * kChunk < range.end; ++chunk) {
    const int id = objects_[object].chunks[chunk];
    if (id < 0) continue;
    Fetch& fetch = fetches_.at(id);
    if (fetch.urgency == Urgency::kDemand) continue;
    fetch.urgency = Urgency::kDemand;
    if (fetch.started) {
      concurrency_.OnRaised(fetch.range.size());
    } else {
      Unqueue(id);
      StartFetch(id);
    }
  }
}

// One fetch for each run of absent chunks.
void SimulatedCore::Claim(size_t object, ByteRange range, Urgency urgency) {
  const std::vector<int>& chunks = objects_[object].chunks;
  std::optional<uint64_t> begin;
  const uint64_t end = (range.end + kChunk - 1) / kChunk;
  for (uint64_t chunk = range.begin / kChunk; chunk <= end; ++chunk) {
    const bool absent = chunk < end && chunks[chunk] == kAbsent;
    if (absent && !begin) begin = chunk;
    if (absent || !begin) continue;
    AddFetch(object, {*begin * kChunk, std::min(chunk * kChunk, objects_[object].size)}, urgency);
    begin.reset();
  }
}

void SimulatedCore::AddFetch(size_t object, ByteRange range, Urgency urgency) {
  const int id = next_fetch_++;
  fetches_[id] = {object, range, urgency};
  for (uint64_t chunk = range.begin / kChunk; chunk * kChunk < range.end; ++chunk)
    objects_[object].chunks[chunk] = id;
  if (urgency == Urgency::kDemand) return StartFetch(id);
  queue_.push_back(id);
  queued_bytes_ += range.size();
}

void SimulatedCore::Unqueue(int id) {
  queue_.erase(std::find(queue_.begin(), queue_.end(), id));
  queued_bytes_ -= fetches_.at(id).range.size();
}

void SimulatedCore::StartFetch(int id) {
  Fetch& fetch = fetches_.at(id);
  fetch.started = true;
  concurrency_.OnStart(fetch.urgency, fetch.range.size());
  link_.Start(id, fetch.range.size(), now_);
}

void SimulatedCore::StartQueued() {
  while (!queue_.empty()) {
    const int id = queue_.front();
    const uint64_t bytes = fetches_.at(id).range.size();
    if (HeldAhead() + bytes > settings_.budget || !concurrency_.MayStart(Urgency::kPrefetch, bytes)) return;
    Unqueue(id);
    StartFetch(id);
  }
}

void SimulatedCore::Receive(int id) {
  Fetch& fetch = fetches_.at(id);
  const SimulatedLink::Transfer& transfer = link_.transfer(id);
  if (!std::exchange(fetch.first_byte, true))
    concurrency_.OnFirstByte(transfer.first_byte - transfer.started);
  const auto received = static_cast<uint64_t>(transfer.received);
  const size_t first = fetch.range.begin / kChunk;
  const bool whole = received >= transfer.bytes;
  const size_t done = whole ? (fetch.range.size() + kChunk - 1) / kChunk : received / kChunk;
  for (; fetch.chunks_done < done; ++fetch.chunks_done) {
    objects_[fetch.object].chunks[first + fetch.chunks_done] = kThere;
    if (settings_.memory == UINT64_MAX) continue;
    objects_[fetch.object].read[first + fetch.chunks_done] = false;
    unread_.emplace_back(fetch.object, first + fetch.chunks_done);
    ++there_;
  }
  if (whole) EndFetch(id);
}

void SimulatedCore::EndFetch(int id) {
  const Fetch& fetch = fetches_.at(id);
  const absl::Duration transfer = now_ + settings_.step - link_.transfer(id).first_byte;
  concurrency_.OnDone({fetch.urgency, fetch.range.size(), fetch.range.size(), transfer, FetchOutcome::kOk},
                      now_);
  link_.Forget(id);
  fetches_.erase(id);
}

// What was read goes first.
void SimulatedCore::Drop() {
  while (there_ * kChunk > settings_.memory) {
    std::deque<std::pair<size_t, size_t>>& from = read_.empty() ? unread_ : read_;
    const auto [object, chunk] = from.front();
    from.pop_front();
    if (objects_[object].chunks[chunk] != kThere || objects_[object].read[chunk] != (&from == &read_))
      continue;
    objects_[object].chunks[chunk] = kAbsent;
    --there_;
  }
}

void SimulatedCore::MarkRead(const TraceRead& read) {
  if (settings_.memory == UINT64_MAX) return;
  for (uint64_t chunk = read.range.begin / kChunk; chunk * kChunk < read.range.end; ++chunk) {
    if (objects_[read.object].read[chunk]) continue;
    objects_[read.object].read[chunk] = true;
    read_.emplace_back(read.object, chunk);
  }
}

// Takes back what was planned and not asked for yet.
void SimulatedCore::Cancel(size_t object, ByteRange range) {
  for (auto it = queue_.begin(); it != queue_.end();) {
    const Fetch& fetch = fetches_.at(*it);
    if (fetch.object != object || fetch.range.begin < range.begin || fetch.range.end > range.end) {
      ++it;
      continue;
    }
    cancelled_ += fetch.range.size();
    queued_bytes_ -= fetch.range.size();
    for (uint64_t chunk = fetch.range.begin / kChunk; chunk * kChunk < fetch.range.end; ++chunk)
      objects_[object].chunks[chunk] = kAbsent;
    fetches_.erase(*it);
    it = queue_.erase(it);
  }
}

void SimulatedCore::CancelAbandoned() {
  for (size_t i = 0; i < objects_.size(); ++i) {
    const uint64_t before = objects_[i].table.ScheduledAhead();
    for (const ByteRange& range : objects_[i].table.Abandoned(now_)) Cancel(i, range);
    ahead_ -= before - objects_[i].table.ScheduledAhead();
  }
}

void SimulatedCore::RunReader(Reader& reader) {
  const TraceReader& trace = *reader.trace;
  const absl::Duration end = now_ + settings_.step;
  if (trace.start > now_) return;
  while (!reader.end && reader.busy_until < end) {
    while (reader.issued < trace.reads.size() &&
           reader.issued < reader.completed + static_cast<size_t>(trace.depth))
      Issue(trace.reads[reader.issued++]);
    const TraceRead& read = trace.reads[reader.completed];
    if (!Ready(read)) return Claim(read.object, read.range, Urgency::kDemand);  // Dropped meanwhile, maybe.
    const auto bytes = static_cast<double>(read.range.size());
    reader.busy_until =
        std::max(reader.busy_until, now_) + absl::Seconds(bytes / trace.bytes_per_second) + trace.think;
    delivered_ += read.range.size();
    MarkRead(read);
    if (++reader.completed == trace.reads.size()) reader.end = std::max(now_, reader.busy_until);
  }
}

void SimulatedCore::Measure(SimulationResult& result) {
  result.ahead_end = ahead_;
  result.ahead_peak = std::max(result.ahead_peak, HeldAhead());
  result.requests_in_flight_peak = std::max(result.requests_in_flight_peak, link_.in_flight());
  progress_.emplace_back(now_, delivered_);
  while (now_ - progress_.front().first > absl::Milliseconds(100)) progress_.pop_front();
  const double rate = static_cast<double>(delivered_ - progress_.front().second) / 0.1;
  if (result.ninety == absl::ZeroDuration() && rate >= 0.9 * settings_.link.total_bytes_per_second)
    result.ninety = now_;
}

SimulationResult SimulatedCore::Run(const std::vector<TraceReader>& traces) {
  std::vector<Reader> readers;
  for (const TraceReader& trace : traces) readers.push_back({&trace});
  SimulationResult result;
  const auto running = [&] {
    return std::any_of(readers.begin(), readers.end(), [](const Reader& reader) { return !reader.end; });
  };
  for (; (running() || !link_.idle()) && now_ < absl::Minutes(5); now_ += settings_.step) {
    for (Reader& reader : readers) RunReader(reader);
    if (running()) StartQueued();
    for (const int id : link_.Advance(now_, settings_.step)) Receive(id);
    Drop();
    if (running()) Measure(result);
  }
  for (const Reader& reader : readers) {
    result.ends.push_back(reader.end.value_or(absl::InfiniteDuration()));
    result.time = std::max(result.time, result.ends.back());
  }
  for (const Object& object : objects_) result.streams += object.table.streams_begun();
  result.delivered = delivered_;
  result.wire = link_.wire_bytes();
  result.requests = link_.requests();
  result.cancelled = cancelled_;
  result.files_fetched_ahead = files_.fetched();
  return result;
}

}  // namespace bucketvol
