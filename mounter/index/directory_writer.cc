#include "mounter/index/directory_writer.h"

#include <cstring>

#include "mounter/base/coding.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/erofs_format.h"

namespace bucketvol {
namespace {

using erofs::kBlockBytes;

// A last block up to this size goes behind the inode instead of into a block of its own. Beyond it the rest
// of the block that is skipped to make room costs more, on average, than the zeros at the end of a block.
constexpr size_t kMaxInlineBytes = 3000;
static_assert(sizeof(erofs::Inode) + kMaxInlineBytes <= kBlockBytes, "inode and entries lie in one block");

absl::string_view BytesOf(const erofs::Inode& inode) {
  return {reinterpret_cast<const char*>(&inode), sizeof inode};
}

}  // namespace

void DirectoryWriter::Start(uint64_t self, uint64_t parent) {
  self_ = self;
  parent_ = parent;
  dots_added_ = 0;
  dot_place_ = dotdot_place_ = {};
  blocks_ = first_block_offset_ = last_block_offset_ = 0;
}

absl::Status DirectoryWriter::Add(const DirectoryEntry& entry) {
  if (dots_added_ < 2) RETURN_IF_ERROR(AddDots(entry.name));
  return AddName(entry.name, entry.nid, entry.directory ? erofs::kTypeDirectory : erofs::kTypeRegular);
}

// Adds those of "." and ".." that sort before a name; names such as "!" and "-" sort before both.
absl::Status DirectoryWriter::AddDots(absl::string_view before) {
  if (dots_added_ == 0 && before > ".") {
    RETURN_IF_ERROR(AddSpecial(".", self_, dot_place_));
    dots_added_ = 1;
  }
  if (dots_added_ == 1 && before > "..") {
    RETURN_IF_ERROR(AddSpecial("..", parent_, dotdot_place_));
    dots_added_ = 2;
  }
  return absl::OkStatus();
}

absl::Status DirectoryWriter::AddSpecial(absl::string_view name, uint64_t nid, Place& place) {
  RETURN_IF_ERROR(AddName(name, nid, erofs::kTypeDirectory));
  place = {false, block_.last_nid_offset()};
  return absl::OkStatus();
}

absl::Status DirectoryWriter::AddName(absl::string_view name, uint64_t nid, uint8_t type) {
  if (!block_.Fits(name)) RETURN_IF_ERROR(WriteBlock());
  block_.Add(name, nid, type);
  return absl::OkStatus();
}

absl::Status DirectoryWriter::WriteBlock() {
  char bytes[kBlockBytes];
  block_.Render(bytes);
  RETURN_IF_ERROR(meta_.AppendBlock(bytes, last_block_offset_));
  if (blocks_++ == 0) first_block_offset_ = last_block_offset_;
  for (auto [added, place] : {std::pair{1, &dot_place_}, std::pair{2, &dotdot_place_}}) {
    if (dots_added_ >= added && !place->written) *place = {true, last_block_offset_ + place->offset};
  }
  return absl::OkStatus();
}

absl::Status DirectoryWriter::Finish(const DirectoryInode& inode) {
  if (dots_added_ < 2) RETURN_IF_ERROR(AddDots("\xff"));
  const size_t last_bytes = block_.bytes();
  const uint64_t size = blocks_ * kBlockBytes + last_bytes;
  const bool inline_tail = self_ == kNoNid && last_bytes > 0 && last_bytes <= kMaxInlineBytes;
  if (!inline_tail && last_bytes > 0) RETURN_IF_ERROR(WriteBlock());

  MetaFile::Slot slot;
  if (self_ == kNoNid) {
    RETURN_IF_ERROR(meta_.Allocate(sizeof(erofs::Inode) + (inline_tail ? last_bytes : 0), slot));
    self_ = slot.offset >> erofs::kNidBits;
  } else {
    slot.offset = self_ << erofs::kNidBits;
  }
  if (inline_tail) {
    char bytes[kBlockBytes];
    block_.Render(bytes);
    std::memcpy(slot.data + sizeof(erofs::Inode), bytes, last_bytes);
  }
  return WriteInode(inode, inline_tail, size, slot.offset);
}

absl::Status DirectoryWriter::WriteInode(const DirectoryInode& from, bool inline_tail, uint64_t size,
                                         uint64_t at) {
  erofs::Inode inode = {};
  inode.format = inline_tail ? erofs::kFlatInline : erofs::kFlatPlain;
  inode.mode = from.mode;
  inode.size = size;
  inode.start = static_cast<uint32_t>(first_block_offset_ >> erofs::kBlockBits);
  inode.ino = static_cast<uint32_t>(self_);
  inode.uid = from.uid;
  inode.gid = from.gid;
  inode.mtime_seconds = from.mtime_seconds;
  inode.mtime_nanoseconds = from.mtime_nanoseconds;
  inode.links = from.links;
  RETURN_IF_ERROR(meta_.Patch(at, BytesOf(inode)));

  const auto offset_of = [&](const Place& place) {
    return place.written ? place.offset : at + sizeof(erofs::Inode) + place.offset;
  };
  dotdot_ = offset_of(dotdot_place_);
  return PatchNid(offset_of(dot_place_), self_);
}

absl::Status DirectoryWriter::PatchNid(uint64_t offset, uint64_t nid) {
  char bytes[sizeof nid];
  StoreLittle(bytes, nid);
  return meta_.Patch(offset, {bytes, sizeof bytes});
}

absl::Status DirectoryWriter::Reserve(uint64_t& nid) {
  MetaFile::Slot slot;
  RETURN_IF_ERROR(meta_.Allocate(sizeof(erofs::Inode), slot));
  nid = slot.offset >> erofs::kNidBits;
  return absl::OkStatus();
}

}  // namespace bucketvol
