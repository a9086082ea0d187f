#include "mounter/reader/reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/store_error.h"
#include "mounter/reader/block_memory.h"
#include "mounter/reader/cached_object.h"
#include "mounter/reader/fetch.h"
#include "mounter/reader/fetch_errors.h"
#include "mounter/reader/fetch_scheduler.h"
#include "mounter/reader/object_registry.h"
#include "mounter/reader/pending_read.h"
#include "mounter/reader/stale_objects.h"

namespace bucketvol {
namespace {

/// Whether the object, not the service or the way to it, is the reason.
bool IsStale(const absl::Status& status) {
  if (absl::IsFailedPrecondition(status)) return true;
  const std::optional<StoreError> error = StoreErrorOf(status);
  return absl::IsNotFound(status) && !(error.has_value() && error->code == "NoSuchBucket");
}

Slice SliceOf(const Block& block, ByteRange read) {
  const ByteRange inside{std::max(read.begin, block.range.begin) - block.range.begin,
                         std::min(read.end, block.range.end) - block.range.begin};
  return {block.buffer, block.buffer->bytes(inside)};
}

bool IsIntact(const Block& block, const Slice& slice) {
  const auto begin = static_cast<uint64_t>(slice.bytes.data() - block.buffer->bytes({0, 0}).data());
  return block.buffer->Verify({begin, begin + slice.bytes.size()});
}

}  // namespace

class Reader::Impl final : public Fetch::Owner {
 public:
  Impl(ObjectStore& store, const Clock& clock, ReadMetrics& metrics, ReaderSettings settings)
      : settings_(std::move(settings)),
        metrics_(metrics),
        stale_(clock, settings_.stale_recheck),
        errors_(clock),
        registry_({settings_.block_bytes, settings_.fetch_bytes, settings_.readahead_bytes}),
        memory_(settings_.memory_bytes, settings_.block_bytes),
        scheduler_(store, memory_, settings_.fetches_beyond_memory) {}
  ~Impl() override {
    scheduler_.Shutdown();
    memory_.Clear();
  }

  void Read(const ObjectId& id, ByteRange range, const ReadContext& context, ReadCallback done);
  void Prefetch(const ObjectId& id, ByteRange range) { Prefetch(registry_.Get(id), range); }
  const MemoryBudget& budget() const { return memory_.budget(); }
  const FetchScheduler& scheduler() const { return scheduler_; }
  const FetchErrors& errors() const { return errors_; }

  std::shared_ptr<BlockBuffer> MakeBuffer(uint64_t bytes, Reservation reservation) override {
    return memory_.MakeBuffer(bytes, std::move(reservation));
  }
  void OnBlockReady(const std::shared_ptr<CachedObject>& object,
                    const std::shared_ptr<Block>& block) override {
    memory_.Keep({object, block});
  }
  void OnReadsReady(std::vector<std::shared_ptr<PendingRead>> reads) override {
    for (const std::shared_ptr<PendingRead>& read : reads) Deliver(read);
  }
  void OnFetchDone(Fetch& fetch, absl::Status status) override;

 private:
  void Begin(const std::shared_ptr<PendingRead>& read);
  void Deliver(const std::shared_ptr<PendingRead>& read);
  void Refetch(const std::shared_ptr<PendingRead>& read, const Block& damaged);
  void Finish(PendingRead& read, absl::StatusOr<ReadData> result);
  void WatchCancellation(const std::shared_ptr<PendingRead>& read);
  void OnCancelled(PendingRead& read);
  void Prefetch(const std::shared_ptr<CachedObject>& object, ByteRange range);
  void FailFetch(const Fetch& fetch, const absl::Status& status);
  absl::Status Explain(const ObjectId& id, const absl::Status& status) const;
  ByteRange FetchRange(const ObjectId& id, ByteRange read) const;
  bool HasRoomFor(uint64_t bytes) const {
    return scheduler_.bytes_in_flight() + bytes <= settings_.memory_bytes / 2;
  }

  const ReaderSettings settings_;
  ReadMetrics& metrics_;
  StaleObjects stale_;
  FetchErrors errors_;
  ObjectRegistry registry_;  // Before those that hold objects.
  BlockMemory memory_;
  FetchScheduler scheduler_;
};

void Reader::Impl::Read(const ObjectId& id, ByteRange range, const ReadContext& context, ReadCallback done) {
  if (range.end > id.size) {
    std::move(done)(absl::OutOfRangeError(
        absl::StrCat("read behind the end of an object: ", settings_.bucket_url, "/", Printable(id.key))));
    return;
  }
  absl::Status stale = stale_.Check(id);
  if (range.empty() || !stale.ok()) {
    std::move(done)(stale.ok() ? absl::StatusOr<ReadData>(ReadData()) : std::move(stale));
    return;
  }
  Begin(std::make_shared<PendingRead>(registry_.Get(id), range, context, std::move(done)));
}

ByteRange Reader::Impl::FetchRange(const ObjectId& id, ByteRange read) const {
  return id.size <= settings_.whole_object_bytes && HasRoomFor(id.size) ? ByteRange{0, id.size} : read;
}

void Reader::Impl::Begin(const std::shared_ptr<PendingRead>& read) {
  const std::shared_ptr<CachedObject>& object = read->object;
  CachedObject::Joined joined = object->Join(read, FetchRange(object->id(), read->range));
  if (read->context.cancellation != nullptr) WatchCancellation(read);
  for (CachedObject::Run& run : joined.runs) {
    scheduler_.Start(std::make_shared<Fetch>(*this, object, std::move(run)));
  }
  if (joined.new_stream) ReadMetrics::Add(metrics_.streams, 1);
  if (!joined.ahead.empty()) Prefetch(object, joined.ahead);
  if (read->Unblock()) Deliver(read);
}

void Reader::Impl::Prefetch(const std::shared_ptr<CachedObject>& object, ByteRange range) {
  const uint64_t block = settings_.block_bytes;
  range = {range.begin / block * block, std::min(range.end, object->id().size)};
  if (range.begin >= range.end) return;
  range.end = std::min((range.end + block - 1) / block * block, object->id().size);
  Reservation reservation;
  if (!HasRoomFor(range.size()) || !memory_.Reserve(range.size(), reservation)) return;
  for (CachedObject::Run& run : object->Claim(range)) {
    auto fetch = std::make_shared<Fetch>(*this, object, std::move(run));
    fetch->Pay(reservation.Split(fetch->size()));
    scheduler_.StartPaid(std::move(fetch));
  }
}

// All parts are there. Those that were in memory before are compared with what had arrived.
void Reader::Impl::Deliver(const std::shared_ptr<PendingRead>& read) {
  if (read->finished.load(std::memory_order_acquire)) return;
  ReadData data;
  data.slices.reserve(read->parts.size());
  for (const PendingRead::Part& part : read->parts) {
    Slice slice = SliceOf(*part.block, read->range);
    if (part.was_ready && !IsIntact(*part.block, slice)) return Refetch(read, *part.block);
    (part.was_ready ? data.origin.memory : data.origin.store) += slice.bytes.size();
    data.slices.push_back(std::move(slice));
  }
  Finish(*read, std::move(data));
}

void Reader::Impl::Refetch(const std::shared_ptr<PendingRead>& read, const Block& damaged) {
  constexpr int kMostDamaged = 3;  // More than bad luck: the memory of this machine is broken.
  const std::string url = absl::StrCat(settings_.bucket_url, "/", Printable(read->object->id().key));
  ReadMetrics::Add(metrics_.bad_checksums, 1);
  LogError("checksum of a block in memory is wrong, fetching it again: ", url, " at ", damaged.range.begin);
  read->object->Drop(damaged);
  if (++read->damaged < kMostDamaged) return Begin(read);
  Finish(*read, absl::DataLossError(absl::StrCat("checksum in memory is wrong again and again: ", url)));
}

void Reader::Impl::Finish(PendingRead& read, absl::StatusOr<ReadData> result) {
  if (read.finished.exchange(true, std::memory_order_acq_rel)) return;
  if (read.context.cancellation != nullptr) read.context.cancellation->OnCancel({});
  if (result.ok()) {
    ReadMetrics::Add(metrics_.from_memory, result->origin.memory);
    ReadMetrics::Add(metrics_.from_store, result->origin.store);
  }
  std::move(read.done)(std::move(result));
}

void Reader::Impl::WatchCancellation(const std::shared_ptr<PendingRead>& read) {
  read->context.cancellation->OnCancel([this, weak = std::weak_ptr<PendingRead>(read)] {
    if (const std::shared_ptr<PendingRead> waiting = weak.lock()) OnCancelled(*waiting);
  });
}

// Runs inside the Cancellation: it must not be called back.
void Reader::Impl::OnCancelled(PendingRead& read) {
  if (read.finished.exchange(true, std::memory_order_acq_rel)) return;
  for (const std::shared_ptr<const FetchHandle>& fetch : read.object->Leave(read))
    fetch->cancellation->Cancel();
  std::move(read.done)(absl::CancelledError("read was cancelled"));
}

absl::Status Reader::Impl::Explain(const ObjectId& id, const absl::Status& status) const {
  const std::string url = absl::StrCat(settings_.bucket_url, "/", Printable(id.key));
  if (!IsStale(status)) return Annotate(status, absl::StrCat("cannot read ", url));
  const absl::string_view what = absl::IsNotFound(status) ? "object was deleted" : "object changed";
  return Annotate(status, absl::StrCat(what, " since it was indexed: ", url));
}

void Reader::Impl::FailFetch(const Fetch& fetch, const absl::Status& status) {
  const ObjectId& id = fetch.object()->id();
  const absl::Status explained = Explain(id, status);
  if (IsStale(status)) {
    fetch.object()->DropReady();
    if (stale_.Mark(id, explained)) {
      ReadMetrics::Add(metrics_.stale_objects, 1);
      errors_.Keep(explained);
      LogWarning(explained.message(),
                 "; its reads fail until the index is refreshed or the volume mounted again");
    }
  } else if (!absl::IsCancelled(status)) {
    errors_.Note(explained);
  }
  for (const std::shared_ptr<PendingRead>& read : fetch.object()->Fail(fetch.blocks()))
    Finish(*read, explained);
}

void Reader::Impl::OnFetchDone(Fetch& fetch, absl::Status status) {
  if (!status.ok()) FailFetch(fetch, status);
  memory_.Trim();
  scheduler_.Retire(fetch);
}

Reader::Reader(ObjectStore& store, const Clock& clock, ReadMetrics& metrics, ReaderSettings settings)
    : impl_(std::make_unique<Impl>(store, clock, metrics, std::move(settings))) {}
Reader::~Reader() = default;

void Reader::Read(const ObjectId& object, ByteRange range, const ReadContext& context, ReadCallback done) {
  impl_->Read(object, range, context, std::move(done));
}
void Reader::Prefetch(const ObjectId& object, ByteRange range) { impl_->Prefetch(object, range); }
Reader::Memory Reader::memory() const { return {impl_->budget().limit(), impl_->budget().used()}; }
size_t Reader::fetches_in_flight() const { return impl_->scheduler().fetches_in_flight(); }
std::string Reader::last_error() const { return impl_->errors().last(); }

}  // namespace bucketvol
