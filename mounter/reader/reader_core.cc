#include "mounter/reader/reader_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/prefetch/parts.h"

namespace bucketvol {
namespace {

// Objects up to this size are fetched whole however little memory there is: one request is worth the wait.
constexpr uint64_t kAlwaysWhole = 1 << 20;
// Some random reads of others; no stream.
constexpr uint64_t kIdleLink = 2 << 20;

CachedObject::Geometry GeometryOf(const ReaderSettings& settings) {
  CachedObject::Geometry geometry{settings.block_bytes, settings.fetch_bytes, settings.streams};
  if (settings.caching == Caching::kOff) geometry.streams.ahead = StreamSettings::Ahead::kOff;
  return geometry;
}

MemoryTierSettings MemoryOf(const ReaderSettings& settings, NodeShare* node) {
  return {.limit_bytes = settings.memory_bytes,
          .block_bytes = settings.block_bytes,
          .passed_bytes = std::min(settings.passed_bytes, settings.memory_bytes / 4),
          .node = node};
}

FetchScheduler::Settings SchedulerOf(const ReaderSettings& settings) {
  FetchScheduler::Settings scheduler;
  scheduler.beyond_memory = settings.beyond_memory_bytes;
  scheduler.part_bytes = settings.fetch_bytes;
  scheduler.smallest_part = std::min<uint64_t>(scheduler.smallest_part, settings.fetch_bytes);
  scheduler.concurrency = settings.concurrency;
  return scheduler;
}

}  // namespace

// A quarter of the memory is left to what was read and to what readers wait for.
Reader::Core::Core(ObjectStore& store, const Clock& clock, ReadMetrics& metrics, ReaderSettings settings,
                   const ReaderHelpers& helpers)
    : settings_(std::move(settings)),
      helpers_(helpers),
      clock_(clock),
      metrics_(metrics),
      stale_(clock, settings_.stale_recheck),
      failures_(clock),
      errors_(clock),
      share_(settings_.memory_bytes / 4 * 3),
      registry_(GeometryOf(settings_)),
      memory_(clock, MemoryOf(settings_, helpers.node)),
      scheduler_(store, tier(), memory_, clock, *this, SchedulerOf(settings_)) {
  if (helpers_.sequence != nullptr && settings_.caching == Caching::kOn)
    sequence_.emplace(*helpers_.sequence, settings_.streams.whole_object_bytes);
}

Reader::Core::~Core() {
  scheduler_.Shutdown();
  memory_.Clear();
}

void Reader::Core::Read(const ObjectId& id, ByteRange range, const ReadContext& context, ReadCallback done) {
  if (range.end > id.size) {
    std::move(done)(absl::OutOfRangeError(
        absl::StrCat("read behind the end of an object: ", settings_.bucket_url, "/", Printable(id.key))));
    return;
  }
  absl::Status known = stale_.Check(id);
  known.Update(failures_.Check(id, range));
  if (range.empty() || !known.ok()) {
    std::move(done)(known.ok() ? absl::StatusOr<ReadData>(ReadData()) : std::move(known));
    return;
  }
  Begin(std::make_shared<PendingRead>(registry_.Get(id), range, context, std::move(done)));
}

CachedObject::Situation Reader::Core::Look(const CachedObject& object, ByteRange range) const {
  CachedObject::Situation situation;
  situation.now = clock_.Elapsed();
  situation.share = &share_;
  if (object.is_small()) {
    situation.room_for_all = object.id().size <= kAlwaysWhole || HasRoomFor(object.id().size);
  } else {
    situation.link = scheduler_.link();
    situation.room_for_all = HasRoomFor(range.size() + kAlwaysWhole);
    situation.link_idle = scheduler_.bytes_in_flight() <= kIdleLink;
  }
  // A tier is asked for blocks one behind the other, and may have what lies behind a gap.
  if (tier() == nullptr) situation.gap = GapBytes(situation.link);
  return situation;
}

// What was brought for other reads tells what to fetch ahead of this one. The hints are no thread's while
// they look: what they read may be long.
std::vector<ByteRange> Reader::Core::FollowHints(CachedObject& object) {
  std::vector<ByteRange> ahead;
  while (std::optional<CachedObject::Glimpse> glimpse = object.TakeGlimpse()) {
    std::string bytes;
    for (const std::shared_ptr<Block>& block : glimpse->blocks) {
      const absl::Span<const char> inside = BytesOf(*block, glimpse->range);
      bytes.append(inside.data(), inside.size());
    }
    FormatHints::Advice advice = glimpse->hints->Take(glimpse->range, bytes);
    ahead.insert(ahead.end(), advice.ahead.begin(), advice.ahead.end());
    object.ReturnHints(std::move(glimpse->hints), std::move(advice.boundaries));
  }
  return ahead;
}

void Reader::Core::Begin(const std::shared_ptr<PendingRead>& read) {
  const std::shared_ptr<CachedObject>& object = read->object;
  std::vector<ByteRange> hinted;
  if (object->has_hints()) hinted = FollowHints(*object);
  CachedObject::Joined joined = object->Join(read, Look(*object, read->range));
  joined.ahead.insert(joined.ahead.begin(), hinted.begin(), hinted.end());
  if (read->context.cancellation != nullptr) WatchCancellation(read);
  StartFetches(object, joined);
  memory_.OnRead(joined.touches);
  if (read->Unblock()) Deliver(read);
  FetchAhead(read, joined);
}

void Reader::Core::StartFetches(const std::shared_ptr<CachedObject>& object, CachedObject::Joined& joined) {
  for (const std::shared_ptr<FetchHandle>& fetch : joined.raised) scheduler_.OnRaised(*fetch);
  if (!joined.runs.empty() && object->queued()) {
    for (const CachedObject::Run& run : joined.runs) scheduler_.DropQueued(*object, {run.fetch->range});
  }
  for (CachedObject::Run& run : joined.runs) scheduler_.StartDemand(object, std::move(run));
}

// After the reader has got what was there: it shall not wait for others' sake.
void Reader::Core::FetchAhead(const std::shared_ptr<PendingRead>& read, const CachedObject::Joined& joined) {
  const std::shared_ptr<CachedObject>& object = read->object;
  object->AddConsumed(read->range.size());
  share_.Add(joined.change.streams, joined.change.ahead);
  if (joined.first_stream) streaming_.Add(object);
  if (joined.new_streams > 0) {
    ReadMetrics::Add(metrics_.streams, joined.new_streams);
    CachedObject::Abandoned abandoned = object->Abandon(clock_.Elapsed());
    Abandon(*object, abandoned);
  }
  if (!joined.ahead.empty()) scheduler_.Enqueue(object, joined.ahead);
  if (joined.first_touch && sequence_ && read->context.ordinal && object->is_small())
    FollowSequence(*read->context.ordinal, joined.stall);
  if (!joined.ahead.empty() || scheduler_.starved()) PumpAhead();
}

void Reader::Core::FollowSequence(uint64_t ordinal, Stall stall) {
  const std::vector<ObjectId> ahead = sequence_->OnTouch(ordinal, stall, clock_.Elapsed());
  for (const ObjectId& id : ahead) scheduler_.Enqueue(registry_.Get(id), {{0, id.size}});
  if (!ahead.empty()) PumpAhead();
}

void Reader::Core::FollowOrder(std::shared_ptr<const ObjectOrder> order, OrderTrust trust) {
  if (sequence_) sequence_->Follow(std::move(order), trust);
}

std::vector<uint32_t> Reader::Core::TakeTouches() {
  return sequence_ ? sequence_->TakeTouches() : std::vector<uint32_t>();
}

void Reader::Core::PumpAhead() {
  scheduler_.Pump();
  if (scheduler_.starved()) share_.OnPressure();
}

void Reader::Core::Prefetch(const ObjectId& id, ByteRange range) {
  range.end = std::min(range.end, id.size);
  if (range.begin >= range.end) return;
  scheduler_.Enqueue(registry_.Get(id), {range});
  scheduler_.Pump();
}

void Reader::Core::LeaveMemory(const CachedObject::Blocks& blocks) {
  for (const std::shared_ptr<Block>& block : blocks) memory_.Remove(*block).reset();
}

void Reader::Core::Abandon(CachedObject& object, CachedObject::Abandoned& abandoned) {
  share_.Add(abandoned.change.streams, abandoned.change.ahead);
  if (!abandoned.ranges.empty()) scheduler_.DropQueued(object, abandoned.ranges);
  LeaveMemory(abandoned.blocks);
  for (const std::shared_ptr<FetchHandle>& fetch : abandoned.fetches) fetch->cancellation->Cancel();
}

void Reader::Core::Tick() {
  constexpr absl::Duration kForgotten = absl::Seconds(10);  // An object without streams, after its last read.
  const absl::Duration now = clock_.Elapsed();
  for (std::shared_ptr<CachedObject>& object : streaming_.TakeAll()) {
    CachedObject::Abandoned abandoned = object->Abandon(now);
    Abandon(*object, abandoned);
    if (abandoned.active > 0 || now - object->last_read() < kForgotten) streaming_.Add(std::move(object));
  }
  memory_.ReleaseIdle();
  share_.Relax();
  scheduler_.Tick();
  scheduler_.Pump();
}

void Reader::Core::OnBlocksReady(const CachedObject::Blocks& blocks) {
  const absl::InlinedVector<std::shared_ptr<Resident>, 16> residents(blocks.begin(), blocks.end());
  memory_.Add(residents);
  if (tier() == nullptr) return;
  for (const std::shared_ptr<Block>& block : blocks) Offer(block);
}

void Reader::Core::Offer(const std::shared_ptr<Block>& block) const {
  const ObjectId& id = block->object->id();
  if (block->from_tier || id.etag.empty()) return;
  tier()->Offer({id.key, id.etag, id.size, block->range, settings_.block_bytes},
                {BytesOf(*block, block->range), block->buffer->checksum()}, block);
}

void Reader::Core::OnReadsReady(CachedObject::Reads reads) {
  for (std::shared_ptr<PendingRead>& read : reads) {
    if (helpers_.replies == nullptr || read->range.size() < settings_.large_reply_bytes) {
      Deliver(read);
    } else {
      helpers_.replies->Post([this, read = std::move(read)] { Deliver(read); });
    }
  }
}

void Reader::Core::OnWrongInTier(Fetch& fetch) {
  ReadMetrics::Add(metrics_.bad_checksums, 1);
  LogWarning("checksum of a block in the cache below the memory is wrong, fetching it again: ",
             settings_.bucket_url, "/", Printable(fetch.object()->id().key));
}

void Reader::Core::OnDamaged(Fetch& fetch) {
  ReadMetrics::Add(metrics_.bad_checksums, 1);
  LogWarning("what came does not match the object's checksum, fetching it again: ", settings_.bucket_url, "/",
             Printable(fetch.object()->id().key));
  scheduler_.Again(fetch);
}

void Reader::Core::OnFetchDone(Fetch& fetch, absl::Status status) {
  if (!status.ok()) FailFetch(fetch, status);
  memory_.Trim();
  scheduler_.Retire(fetch, status);
}

}  // namespace bucketvol
