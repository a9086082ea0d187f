#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mounter/cache/block_tier.h"
#include "mounter/cache/memory_budget.h"
#include "mounter/objstore/object_store.h"
#include "mounter/prefetch/concurrency_limit.h"
#include "mounter/reader/cached_object.h"

namespace bucketvol {

/// One GET that fills a run of blocks, front to back, and throws away what it brings between them. Driven by
/// one thread of the store at a time.
///
/// Where the run is the whole object and the service tells its checksum, nothing is given to readers before
/// it was found right.
class Fetch final : public GetSink {
 public:
  /// Sees to what a fetch brings. Called by the store's thread, without locks.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// What a block of `bytes` takes from the memory.
    virtual uint64_t Charge(uint64_t bytes) const = 0;
    /// The buffer of a block whose first bytes have come.
    virtual BlockBuffer MakeBuffer(uint64_t bytes, Reservation reservation) = 0;
    /// The first bytes have come.
    virtual void OnFirstByte(Fetch& fetch) = 0;
    /// These blocks became READY.
    virtual void OnBlocksReady(const CachedObject::Blocks& blocks) = 0;
    /// These reads have all they waited for.
    virtual void OnReadsReady(CachedObject::Reads reads) = 0;
    /// The tier below the memory gave bytes that are not those it was offered.
    virtual void OnWrongInTier(Fetch& fetch) = 0;
    /// The object's checksum says that these are not its bytes. They are forgotten; asks for them again.
    virtual void OnDamaged(Fetch& fetch) = 0;
    /// The end. `status` is not OK unless every block is READY. May destroy the fetch.
    virtual void OnFetchDone(Fetch& fetch, absl::Status status) = 0;
  };

  /// When it began and what came; for its owner.
  struct Progress {
    bool requested = false;
    absl::Duration started;
    absl::Duration first_byte;
    uint64_t received = 0;
  };

  Fetch(Owner& owner, std::shared_ptr<CachedObject> object, CachedObject::Run run);

  /// What it takes from the memory.
  uint64_t charge() const { return charge_; }
  /// Gives the fetch the memory it needs: charge(). Before the request is made.
  void Pay(Reservation reservation) { reservation_ = std::move(reservation); }
  /// For the bytes that are not there yet: they come next.
  GetRequest Request();

  /// The blocks, for the tier below the memory. There must be no gaps between them.
  TierBlocks Names() const;
  /// Takes the next block from there, before the request is made. False: it is not what it was.
  bool TakeFromTier(const TierBlock& found);
  /// Whether all bytes are there.
  bool whole() const { return current_ == run_.blocks.size(); }

  void OnVersion(absl::string_view etag) override;
  void OnObjectCrc64(uint64_t crc) override;
  void OnData(absl::Span<const char> data) override;
  void OnDone(absl::Status status) override;

  uint64_t size() const { return run_.fetch->range.size(); }
  const std::shared_ptr<CachedObject>& object() const { return object_; }
  const CachedObject::Blocks& blocks() const { return run_.blocks; }
  const std::shared_ptr<FetchHandle>& handle() const { return run_.fetch; }
  Progress& progress() { return progress_; }
  const Progress& progress() const { return progress_; }

 private:
  uint64_t FillBlock(absl::Span<const char> data);
  void Publish(CachedObject::Blocks full);
  bool RightBytes() const;
  void Forget();

  Owner& owner_;
  const std::shared_ptr<CachedObject> object_;
  const CachedObject::Run run_;
  uint64_t charge_ = 0;
  Progress progress_;
  Reservation reservation_;        // Shrinks as buffers are made.
  size_t current_ = 0;             // The block being filled.
  uint64_t position_ = 0;          // In the object, of what comes next from the store.
  bool other_version_ = false;     // The bytes are not the object's: they are thrown away.
  std::optional<uint64_t> crc64_;  // Of all blocks together.
  int damaged_ = 0;                // How often it was wrong.
};

}  // namespace bucketvol
