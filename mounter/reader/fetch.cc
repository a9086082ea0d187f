#include "mounter/reader/fetch.h"

#include <algorithm>
#include <utility>

#include "mounter/base/crc.h"

namespace bucketvol {

Fetch::Fetch(Owner& owner, std::shared_ptr<CachedObject> object, CachedObject::Run run)
    : owner_(owner), object_(std::move(object)), run_(std::move(run)) {
  for (const std::shared_ptr<Block>& block : run_.blocks) charge_ += owner_.Charge(block->range.size());
}

GetRequest Fetch::Request() {
  GetRequest request;
  request.key = object_->id().key;
  request.range = run_.fetch->range;
  if (!whole()) request.range.begin = run_.blocks[current_]->range.begin;
  position_ = request.range.begin;
  request.if_match = object_->id().etag;
  request.object_size = object_->id().size;
  request.cancellation = run_.fetch->cancellation;
  request.purpose = {run_.fetch, &run_.fetch->purpose};
  return request;
}

TierBlocks Fetch::Names() const {
  const ObjectId& id = object_->id();
  return {id.key, id.etag, id.size, run_.fetch->range, object_->block_bytes()};
}

bool Fetch::TakeFromTier(const TierBlock& found) {
  if (whole() || found.bytes.size() != run_.blocks[current_]->range.size()) return false;
  Block& block = *run_.blocks[current_];
  FillBlock(found.bytes);
  if (block.buffer->checksum() != found.crc32c) {
    block.buffer->Restart();
    owner_.OnWrongInTier(*this);
    return false;
  }
  block.from_tier = true;
  ++current_;
  Publish({run_.blocks[current_ - 1]});
  return true;
}

void Fetch::OnVersion(absl::string_view etag) {
  if (!object_->AcceptVersion(etag)) other_version_ = true;
}

// Returns how many of the bytes the block took.
uint64_t Fetch::FillBlock(absl::Span<const char> data) {
  Block& block = *run_.blocks[current_];
  const uint64_t size = block.range.size();
  if (!block.buffer) {
    block.buffer.emplace(owner_.MakeBuffer(size, reservation_.Split(owner_.Charge(size))));
  }
  const uint64_t length = std::min<uint64_t>(data.size(), size - block.buffer->filled());
  block.buffer->Append(data.first(length));
  return length;
}

void Fetch::OnObjectCrc64(uint64_t crc) {
  const bool all = size() == object_->id().size && run_.fetch->gaps == 0;
  if (all && current_ == 0) crc64_ = crc;
}

// Bytes beyond those asked for cannot belong to the object's blocks and are ignored.
void Fetch::OnData(absl::Span<const char> data) {
  if (data.empty()) return;
  if (progress_.received == 0) owner_.OnFirstByte(*this);
  progress_.received += data.size();
  if (other_version_) return;
  CachedObject::Blocks full;
  while (!data.empty() && !whole()) {
    const std::shared_ptr<Block>& block = run_.blocks[current_];
    const uint64_t gap = block->range.begin - std::min(position_, block->range.begin);
    const uint64_t length = gap > 0 ? std::min<uint64_t>(gap, data.size()) : FillBlock(data);
    position_ += length;
    data.remove_prefix(length);
    if (position_ < block->range.end) continue;
    full.push_back(block);
    ++current_;
  }
  if (!crc64_) Publish(std::move(full));
}

void Fetch::Publish(CachedObject::Blocks full) {
  Block* partial = whole() ? nullptr : run_.blocks[current_].get();
  if (partial != nullptr && !partial->buffer) partial = nullptr;
  CachedObject::Reads woken =
      object_->Advance(full, partial, partial != nullptr ? partial->buffer->filled() : 0);
  if (!full.empty()) owner_.OnBlocksReady(full);
  if (!woken.empty()) owner_.OnReadsReady(std::move(woken));
}

bool Fetch::RightBytes() const {
  uint64_t crc = 0;
  for (const std::shared_ptr<Block>& block : run_.blocks) {
    const absl::Span<const char> bytes = block->buffer->bytes({0, block->range.size()});
    crc = Crc64(crc, {bytes.data(), bytes.size()});
  }
  return crc == *crc64_;
}

void Fetch::Forget() {
  for (const std::shared_ptr<Block>& block : run_.blocks) block->buffer->Restart();
  current_ = 0;
  crc64_.reset();
}

void Fetch::OnDone(absl::Status status) {
  constexpr int kMostDamaged = 3;  // Then the object itself or its checksum is wrong.
  if (status.ok() && other_version_) status = absl::FailedPreconditionError("another ETag than asked for");
  if (status.ok() && !whole()) status = absl::DataLossError("fewer bytes than asked for");
  if (status.ok() && crc64_) {
    if (RightBytes()) {
      Publish(run_.blocks);
    } else if (++damaged_ < kMostDamaged) {
      Forget();
      return owner_.OnDamaged(*this);
    } else {
      status = absl::DataLossError("the bytes that come are not those of the object's CRC-64");
    }
  }
  reservation_.Reset();
  owner_.OnFetchDone(*this, std::move(status));
}

}  // namespace bucketvol
