// How the reads of a Reader end.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/store_error.h"
#include "mounter/reader/reader_core.h"

namespace bucketvol {
namespace {

/// Whether the object, not the service or the way to it, is the reason.
bool IsStale(const absl::Status& status) {
  if (absl::IsFailedPrecondition(status)) return true;
  const std::optional<StoreError> error = StoreErrorOf(status);
  return absl::IsNotFound(status) && !(error.has_value() && error->code == "NoSuchBucket");
}

/// Whether the object is in an archive: its bytes cannot be had before somebody restores it.
bool IsArchived(const absl::Status& status) {
  const std::optional<StoreError> error = StoreErrorOf(status);
  return error.has_value() && error->code == "InvalidObjectState";
}

uint64_t& OriginOf(const PendingRead::Part& part, ReadOrigin& origin) {
  if (part.was_ready) return origin.memory;
  return part.block->from_tier ? origin.disk : origin.store;
}

}  // namespace

// All parts are there. Those that were in memory before are compared with what had arrived.
void Reader::Core::Deliver(const std::shared_ptr<PendingRead>& read) {
  if (read->finished.load(std::memory_order_acquire)) return;
  ReadData data;
  for (const PendingRead::Part& part : read->parts) {
    if (part.was_ready && !part.block->buffer->Verify()) return Refetch(read, *part.block);
    Slice slice{part.block, BytesOf(*part.block, read->range)};
    OriginOf(part, data.origin) += slice.bytes.size();
    data.slices.push_back(std::move(slice));
  }
  Finish(*read, std::move(data));
  if (settings_.caching == Caching::kOff) LeaveMemory(read->object->DropDelivered(*read));
}

void Reader::Core::Refetch(const std::shared_ptr<PendingRead>& read, const Block& damaged) {
  constexpr int kMostDamaged = 3;  // More than bad luck: the memory of this machine is broken.
  const std::string url = absl::StrCat(settings_.bucket_url, "/", Printable(read->object->id().key));
  ReadMetrics::Add(metrics_.bad_checksums, 1);
  LogError("checksum of a block in memory is wrong, fetching it again: ", url, " at ", damaged.range.begin);
  read->object->Drop(damaged);
  memory_.Remove(const_cast<Block&>(damaged)).reset();
  if (++read->damaged < kMostDamaged) return Begin(read);
  Finish(*read, absl::DataLossError(absl::StrCat("checksum in memory is wrong again and again: ", url)));
}

void Reader::Core::Finish(PendingRead& read, absl::StatusOr<ReadData> result) {
  if (read.finished.exchange(true, std::memory_order_acq_rel)) return;
  if (read.context.cancellation != nullptr) read.context.cancellation->OnCancel({});
  if (result.ok()) {
    ReadMetrics::Add(metrics_.from_memory, result->origin.memory);
    ReadMetrics::Add(metrics_.from_disk, result->origin.disk);
    ReadMetrics::Add(metrics_.from_store, result->origin.store);
  }
  std::move(read.done)(std::move(result));
}

void Reader::Core::WatchCancellation(const std::shared_ptr<PendingRead>& read) {
  read->context.cancellation->OnCancel([this, weak = std::weak_ptr<PendingRead>(read)] {
    if (const std::shared_ptr<PendingRead> waiting = weak.lock()) OnCancelled(*waiting);
  });
}

// Runs inside the Cancellation: it must not be called back.
void Reader::Core::OnCancelled(PendingRead& read) {
  if (read.finished.exchange(true, std::memory_order_acq_rel)) return;
  for (const std::shared_ptr<FetchHandle>& fetch : read.object->Leave(read)) fetch->cancellation->Cancel();
  std::move(read.done)(absl::CancelledError("read was cancelled"));
}

absl::Status Reader::Core::Explain(const ObjectId& id, const absl::Status& status) const {
  const std::string url = absl::StrCat(settings_.bucket_url, "/", Printable(id.key));
  if (!IsStale(status)) return Annotate(status, absl::StrCat("cannot read ", url));
  const absl::string_view what = absl::IsNotFound(status) ? "object was deleted" : "object changed";
  return Annotate(status, absl::StrCat(what, " since it was indexed: ", url));
}

void Reader::Core::FailFetch(const Fetch& fetch, const absl::Status& status) {
  const ObjectId& id = fetch.object()->id();
  const absl::Status explained = Explain(id, status);
  if (IsStale(status) || IsArchived(status)) scheduler_.DropQueued(*fetch.object(), {{0, id.size}});
  if (IsStale(status)) {
    LeaveMemory(fetch.object()->DropReady());
    if (stale_.Mark(id, explained)) {
      ReadMetrics::Add(metrics_.stale_objects, 1);
      errors_.Keep(explained);
      LogWarning(explained.message(),
                 "; its reads fail until the index is refreshed or the volume mounted again");
    }
  } else if (IsArchived(status)) {
    if (stale_.Mark(id, explained)) {
      errors_.Keep(explained);
      LogWarning(explained.message());
    }
  } else if (!absl::IsCancelled(status)) {
    errors_.Note(explained);
  }
  const CachedObject::Reads reads = fetch.object()->Fail(fetch.blocks());
  if (!reads.empty() && !absl::IsCancelled(status))
    failures_.Note(id, fetch.handle()->range, explained, clock_.Elapsed() - fetch.progress().started);
  for (const std::shared_ptr<PendingRead>& read : reads) Finish(*read, explained);
}

}  // namespace bucketvol
