#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "mounter/cache/memory_tier.h"
#include "mounter/reader/cached_object.h"
#include "mounter/reader/fetch.h"
#include "mounter/reader/fetch_errors.h"
#include "mounter/reader/fetch_scheduler.h"
#include "mounter/reader/object_registry.h"
#include "mounter/reader/pending_read.h"
#include "mounter/reader/reader.h"
#include "mounter/reader/recent_failures.h"
#include "mounter/reader/sequence_ahead.h"
#include "mounter/reader/stale_objects.h"
#include "mounter/reader/streaming_objects.h"
#include "mounter/reader/window_share.h"

namespace bucketvol {

/// What a Reader consists of. See there.
class Reader::Core final : public Fetch::Owner {
 public:
  Core(ObjectStore& store, const Clock& clock, ReadMetrics& metrics, ReaderSettings settings,
       const ReaderHelpers& helpers);
  ~Core() override;

  void Read(const ObjectId& id, ByteRange range, const ReadContext& context, ReadCallback done);
  void Prefetch(const ObjectId& id, ByteRange range);
  void FollowOrder(std::shared_ptr<const ObjectOrder> order, OrderTrust trust);
  std::vector<uint32_t> TakeTouches();
  void Tick();
  const MemoryTier& memory() const { return memory_; }
  const FetchScheduler& scheduler() const { return scheduler_; }
  const FetchErrors& errors() const { return errors_; }

  // Fetch::Owner.
  uint64_t Charge(uint64_t bytes) const override { return memory_.Charge(bytes); }
  BlockBuffer MakeBuffer(uint64_t bytes, Reservation reservation) override {
    return memory_.NewBuffer(bytes, std::move(reservation));
  }
  void OnFirstByte(Fetch& fetch) override { scheduler_.OnFirstByte(fetch); }
  void OnBlocksReady(const CachedObject::Blocks& blocks) override;
  void OnReadsReady(CachedObject::Reads reads) override;
  void OnWrongInTier(Fetch& fetch) override;
  void OnDamaged(Fetch& fetch) override;
  void OnFetchDone(Fetch& fetch, absl::Status status) override;

 private:
  void Begin(const std::shared_ptr<PendingRead>& read);
  static std::vector<ByteRange> FollowHints(CachedObject& object);
  CachedObject::Situation Look(const CachedObject& object, ByteRange range) const;
  void StartFetches(const std::shared_ptr<CachedObject>& object, CachedObject::Joined& joined);
  void FetchAhead(const std::shared_ptr<PendingRead>& read, const CachedObject::Joined& joined);
  void FollowSequence(uint64_t ordinal, Stall stall);
  void PumpAhead();
  void Abandon(CachedObject& object, CachedObject::Abandoned& abandoned);
  BlockTier* tier() const { return settings_.caching == Caching::kOn ? helpers_.tier : nullptr; }
  void Offer(const std::shared_ptr<Block>& block) const;
  void LeaveMemory(const CachedObject::Blocks& blocks);

  void Deliver(const std::shared_ptr<PendingRead>& read);
  void Refetch(const std::shared_ptr<PendingRead>& read, const Block& damaged);
  void Finish(PendingRead& read, absl::StatusOr<ReadData> result);
  void WatchCancellation(const std::shared_ptr<PendingRead>& read);
  void OnCancelled(PendingRead& read);
  void FailFetch(const Fetch& fetch, const absl::Status& status);
  absl::Status Explain(const ObjectId& id, const absl::Status& status) const;
  /// Whether so many bytes more may be in flight.
  bool HasRoomFor(uint64_t bytes) const {
    return scheduler_.bytes_in_flight() + bytes <= memory_.budget().in_reach() / 2;
  }

  const ReaderSettings settings_;
  const ReaderHelpers helpers_;
  const Clock& clock_;
  ReadMetrics& metrics_;
  StaleObjects stale_;
  RecentFailures failures_;
  FetchErrors errors_;
  WindowShare share_;
  std::optional<SequenceAhead> sequence_;
  ObjectRegistry registry_;  // Before those that hold objects.
  StreamingObjects streaming_;
  MemoryTier memory_;
  FetchScheduler scheduler_;
};

}  // namespace bucketvol
