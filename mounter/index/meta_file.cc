#include "mounter/index/meta_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mounter/base/crc.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/address_space.h"
#include "mounter/index/erofs_format.h"

namespace bucketvol {
namespace {

using erofs::kBlockBytes;

constexpr size_t kLargestChunk = 256 << 10;
constexpr size_t kBlocksBuffer = 256 << 10;
constexpr uint64_t kMaxBytes = AddressSpace::kMetaBlocks << erofs::kBlockBits;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) & ~(unit - 1); }

}  // namespace

MetaFile::MetaFile(StagedFile file)
    : file_(std::move(file)),
      tail_(kBlockBytes),
      chunk_(new char[kLargestChunk]),
      chunk_offset_(kBlockBytes),
      blocks_(new char[kBlocksBuffer]),
      blocks_offset_(kBlockBytes) {}

absl::Status MetaFile::Allocate(size_t bytes, Slot& slot) {
  size_t begin = gap_begin_;
  if (gap_end_ - gap_begin_ >= bytes) {
    gap_begin_ = std::min(RoundUp(begin + bytes, erofs::kSlotBytes), gap_end_);
  } else {
    if (bytes > RoomInBlock()) RETURN_IF_ERROR(NextBlock());
    begin = chunk_used_;
    chunk_used_ = RoundUp(begin + bytes, erofs::kSlotBytes);
  }
  slot = {chunk_offset_ + begin, chunk_.get() + begin};
  return absl::OkStatus();
}

size_t MetaFile::RoomInBlock() const {
  return chunk_used_ == chunk_bytes_ ? 0 : kBlockBytes - chunk_used_ % kBlockBytes;
}

absl::Status MetaFile::NextBlock() {
  if (RoomInBlock() > gap_end_ - gap_begin_) {
    gap_begin_ = chunk_used_;
    gap_end_ = chunk_used_ + RoomInBlock();
  }
  chunk_used_ += RoomInBlock();
  return chunk_used_ == chunk_bytes_ ? NewChunk() : absl::OkStatus();
}

absl::Status MetaFile::NewChunk() {
  RETURN_IF_ERROR(FlushChunk());
  RETURN_IF_ERROR(FlushBlocks());
  chunk_bytes_ = chunk_bytes_ == 0 ? kBlockBytes : std::min(chunk_bytes_ * 2, kLargestChunk);
  chunk_offset_ = tail_;
  tail_ += chunk_bytes_;
  blocks_offset_ = tail_;
  if (tail_ > kMaxBytes) {
    return absl::OutOfRangeError("the names need more than 1 TiB of metadata; mount a smaller path");
  }
  std::memset(chunk_.get(), 0, chunk_bytes_);
  chunk_used_ = gap_begin_ = gap_end_ = 0;
  file_.WriteBehind(chunk_offset_);
  return absl::OkStatus();
}

absl::Status MetaFile::FlushChunk() { return Write({chunk_.get(), chunk_bytes_}, chunk_offset_); }

absl::Status MetaFile::AppendBlock(const char* block, uint64_t& offset) {
  if (blocks_bytes_ == kBlocksBuffer) RETURN_IF_ERROR(FlushBlocks());
  std::memcpy(blocks_.get() + blocks_bytes_, block, kBlockBytes);
  blocks_bytes_ += kBlockBytes;
  offset = tail_;
  tail_ += kBlockBytes;
  return absl::OkStatus();
}

absl::Status MetaFile::FlushBlocks() {
  RETURN_IF_ERROR(Write({blocks_.get(), blocks_bytes_}, blocks_offset_));
  blocks_offset_ += blocks_bytes_;
  blocks_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status MetaFile::Write(absl::string_view data, uint64_t offset) {
  if (data.empty()) return absl::OkStatus();
  digest_ = Crc32c(digest_, data);
  return file_.WriteAt(data, offset);
}

char* MetaFile::BufferedAt(uint64_t offset, size_t bytes) const {
  if (offset >= chunk_offset_ && offset + bytes <= chunk_offset_ + chunk_bytes_) {
    return chunk_.get() + (offset - chunk_offset_);
  }
  if (offset >= blocks_offset_ && offset + bytes <= blocks_offset_ + blocks_bytes_) {
    return blocks_.get() + (offset - blocks_offset_);
  }
  return nullptr;
}

absl::Status MetaFile::Patch(uint64_t offset, absl::string_view bytes) {
  char* buffered = BufferedAt(offset, bytes.size());
  if (buffered == nullptr) return Write(bytes, offset);
  std::memcpy(buffered, bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::Status MetaFile::Read(uint64_t offset, absl::Span<char> out) const {
  const char* buffered = BufferedAt(offset, out.size());
  if (buffered == nullptr) return file_.ReadAt(out, offset);
  std::memcpy(out.data(), buffered, out.size());
  return absl::OkStatus();
}

absl::Status MetaFile::Flush() {
  RETURN_IF_ERROR(FlushChunk());
  RETURN_IF_ERROR(FlushBlocks());
  chunk_bytes_ = chunk_used_ = gap_begin_ = gap_end_ = 0;
  return absl::OkStatus();
}

}  // namespace bucketvol
