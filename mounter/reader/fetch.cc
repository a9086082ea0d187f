#include "mounter/reader/fetch.h"

#include <algorithm>
#include <utility>

namespace bucketvol {

Fetch::Fetch(Owner& owner, std::shared_ptr<CachedObject> object, CachedObject::Run run)
    : owner_(owner), object_(std::move(object)), run_(std::move(run)) {}

GetRequest Fetch::Request() const {
  GetRequest request;
  request.key = object_->id().key;
  request.range = run_.fetch->range;
  request.if_match = object_->id().etag;
  request.object_size = object_->id().size;
  request.cancellation = run_.fetch->cancellation;
  return request;
}

void Fetch::OnVersion(absl::string_view etag) {
  if (!object_->AcceptVersion(etag)) other_version_ = true;
}

// Bytes beyond those asked for cannot belong to the object's blocks and are ignored.
void Fetch::OnData(absl::Span<const char> data) {
  while (!data.empty() && !other_version_ && current_ < run_.blocks.size()) {
    const std::shared_ptr<Block>& block = run_.blocks[current_];
    const uint64_t size = block->range.size();
    if (block->buffer == nullptr) {
      block->buffer = owner_.MakeBuffer(size, reservation_.Split(size));
    }
    const uint64_t length = std::min<uint64_t>(data.size(), size - block->buffer->filled());
    block->buffer->Append(data.first(length));
    data.remove_prefix(length);
    const bool full = block->buffer->filled() == size;
    if (full) ++current_;
    std::vector<std::shared_ptr<PendingRead>> woken = object_->Advance(*block, block->buffer->filled());
    if (full) owner_.OnBlockReady(object_, block);
    if (!woken.empty()) owner_.OnReadsReady(std::move(woken));
  }
}

void Fetch::OnDone(absl::Status status) {
  reservation_.Reset();
  if (status.ok() && other_version_) status = absl::FailedPreconditionError("another ETag than asked for");
  if (status.ok() && current_ < run_.blocks.size())
    status = absl::DataLossError("fewer bytes than asked for");
  owner_.OnFetchDone(*this, std::move(status));
}

}  // namespace bucketvol
