#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "mounter/objstore/object_store.h"
#include "mounter/reader/cached_object.h"
#include "mounter/reader/memory_budget.h"

namespace bucketvol {

/// One GET that fills a run of blocks, front to back. Driven by one thread of the store at a time.
class Fetch final : public GetSink {
 public:
  /// Sees to what a fetch brings. Called by the store's thread, without locks.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// The buffer of a block whose first bytes have come.
    virtual std::shared_ptr<BlockBuffer> MakeBuffer(uint64_t bytes, Reservation reservation) = 0;
    /// A block became READY.
    virtual void OnBlockReady(const std::shared_ptr<CachedObject>& object,
                              const std::shared_ptr<Block>& block) = 0;
    /// These reads have all they waited for.
    virtual void OnReadsReady(std::vector<std::shared_ptr<PendingRead>> reads) = 0;
    /// The end. `status` is not OK unless every block is READY. May destroy the fetch.
    virtual void OnFetchDone(Fetch& fetch, absl::Status status) = 0;
  };

  Fetch(Owner& owner, std::shared_ptr<CachedObject> object, CachedObject::Run run);

  /// Gives the fetch the memory it needs: size() bytes. Before the request is made.
  void Pay(Reservation reservation) { reservation_ = std::move(reservation); }
  GetRequest Request() const;

  void OnVersion(absl::string_view etag) override;
  void OnData(absl::Span<const char> data) override;
  void OnDone(absl::Status status) override;

  uint64_t size() const { return run_.fetch->range.size(); }
  const std::shared_ptr<CachedObject>& object() const { return object_; }
  const std::vector<std::shared_ptr<Block>>& blocks() const { return run_.blocks; }
  Cancellation& cancellation() const { return *run_.fetch->cancellation; }

 private:
  Owner& owner_;
  const std::shared_ptr<CachedObject> object_;
  const CachedObject::Run run_;
  Reservation reservation_;     // Shrinks as buffers are made.
  size_t current_ = 0;          // The block being filled.
  bool other_version_ = false;  // The bytes are not the object's: they are thrown away.
};

}  // namespace bucketvol
