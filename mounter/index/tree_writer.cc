#include "mounter/index/tree_writer.h"

#include <sys/stat.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/common_prefix.h"
#include "mounter/index/erofs_format.h"

namespace bucketvol {
namespace {

constexpr size_t kMostDotdots = 64;  // Patches that wait for one directory.

struct TimeParts {
  int64_t seconds;
  uint32_t nanoseconds;
};

TimeParts FromMilliseconds(int64_t ms) {
  const int64_t rest = ((ms % 1000) + 1000) % 1000;
  return {(ms - rest) / 1000, static_cast<uint32_t>(rest) * 1'000'000};
}

TimeParts FromTime(absl::Time time) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  return {seconds, static_cast<uint32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds)))};
}

uint64_t ChunksOf(uint64_t bytes) {
  return (AddressSpace::BlocksOf(bytes) + erofs::kChunkBlocks - 1) >> erofs::kChunkBlockBits;
}

// Writes the chunk indexes of a file on a far device; returns its chunk format.
uint32_t WriteChunks(const Placement& place, uint64_t chunks, char* out) {
  uint64_t block = place.block;
  uint32_t format = erofs::kChunkBlockBits | erofs::kChunkIndexes;
  for (uint64_t i = 0; i < chunks; ++i, block += erofs::kChunkBlocks) {
    const erofs::ChunkIndex index = {static_cast<uint16_t>(block >> 32),
                                     static_cast<uint16_t>(place.device + 1), static_cast<uint32_t>(block)};
    std::memcpy(out + i * sizeof index, &index, sizeof index);
    if (block >= erofs::kNoBlock32) format |= erofs::kChunk48Bit;
  }
  return format;
}

/// Walks packed entries on the stack.
class EntryReader {
 public:
  EntryReader(const SpillStack& stack, uint64_t begin) : reader_(stack, begin, stack.size()) {}

  /// The next entry, whole; empty at the end.
  absl::Status Next(absl::string_view& packed) {
    reader_.Skip(last_);
    RETURN_IF_ERROR(reader_.Peek(kEntryHeader + erofs::kMaxName, packed));
    last_ = packed.empty() ? 0 : EntryBytes(packed.data());
    packed = packed.substr(0, last_);
    return absl::OkStatus();
  }

 private:
  SpillStack::Reader reader_;
  size_t last_ = 0;
};

}  // namespace

TreeWriter::TreeWriter(TreeSettings settings, MetaFile& meta, const AddressSpace& space, IndexReport& report)
    : settings_(std::move(settings)),
      meta_(meta),
      space_(space),
      report_(report),
      writer_(meta),
      stack_(settings_.scratch_directory, settings_.memory_bytes),
      sorter_(settings_.scratch_directory, settings_.memory_bytes),
      open_(1) {}

absl::Status TreeWriter::Start() { return writer_.Reserve(open_[0].nid); }

absl::string_view TreeWriter::NewPart(absl::string_view path) const {
  size_t depth = depth_;
  size_t common = path_.size();
  if (path.substr(0, common) != path_) {
    common = CommonPrefix(path, path_);
    while (open_[depth].path_bytes > common) --depth;
    common = open_[depth].path_bytes;
  }
  return path.substr(common);
}

absl::Status TreeWriter::AddFile(absl::string_view path, const FileFacts& file) {
  RETURN_IF_ERROR(MoveTo(path));
  DirectoryEntry entry;
  entry.name = path.substr(path_.size());
  entry.archived = file.archived;
  RETURN_IF_ERROR(WriteFileInode(file, entry.nid));
  ++report_.files;
  report_.bytes += file.size;
  report_.archived += file.archived;
  return Push(entry);
}

absl::Status TreeWriter::AddMarker(absl::string_view path, int64_t modified_ms) {
  RETURN_IF_ERROR(MoveTo(path));
  if (depth_ > 0) ++report_.marked_directories;
  current().marked = true;
  current().modified_ms = modified_ms;
  return absl::OkStatus();
}

absl::Status TreeWriter::MoveTo(absl::string_view path) {
  absl::string_view rest = NewPart(path);
  while (path_.size() > path.size() - rest.size()) RETURN_IF_ERROR(Close());
  for (size_t slash; (slash = rest.find('/')) != absl::string_view::npos; rest.remove_prefix(slash + 1)) {
    Open(rest.substr(0, slash));
  }
  return absl::OkStatus();
}

void TreeWriter::Open(absl::string_view name) {
  path_.append(name.data(), name.size());
  path_.push_back('/');
  if (++depth_ == open_.size()) open_.emplace_back();
  Directory& directory = current();
  directory.path_bytes = path_.size();
  directory.entries = stack_.size();
  directory.nid = DirectoryWriter::kNoNid;
  directory.subdirectories = 0;
  directory.marked = false;
  directory.dotdots.clear();
}

absl::Status TreeWriter::Close() {
  Directory& directory = current();
  writer_.Start(directory.nid, depth_ == 0 ? directory.nid : open_[depth_ - 1].nid);
  RETURN_IF_ERROR(WriteEntries(directory));
  RETURN_IF_ERROR(writer_.Finish(InodeOf(directory)));
  directory.nid = writer_.nid();
  RETURN_IF_ERROR(SetDotdots(directory));
  stack_.Truncate(directory.entries);
  if (depth_ == 0) return absl::OkStatus();

  ++report_.directories;
  --depth_;
  const size_t parent_bytes = current().path_bytes;
  RETURN_IF_ERROR(
      AddToParent(absl::string_view(path_).substr(parent_bytes, path_.size() - parent_bytes - 1)));
  path_.resize(parent_bytes);
  return absl::OkStatus();
}

absl::Status TreeWriter::AddToParent(absl::string_view name) {
  Directory& parent = current();
  DirectoryEntry entry;
  entry.name = name;
  entry.nid = writer_.nid();
  entry.directory = true;
  RETURN_IF_ERROR(Push(entry));
  ++parent.subdirectories;
  if (parent.nid != DirectoryWriter::kNoNid) return absl::OkStatus();
  parent.dotdots.push_back(writer_.dotdot_offset());
  if (parent.dotdots.size() < kMostDotdots) return absl::OkStatus();
  RETURN_IF_ERROR(writer_.Reserve(parent.nid));
  return SetDotdots(parent);
}

absl::Status TreeWriter::SetDotdots(Directory& directory) {
  for (const uint64_t offset : directory.dotdots) RETURN_IF_ERROR(writer_.PatchNid(offset, directory.nid));
  directory.dotdots.clear();
  return absl::OkStatus();
}

absl::Status TreeWriter::WriteEntries(const Directory& directory) {
  if (directory.subdirectories > 0) RETURN_IF_ERROR(SortSubdirectories(directory));
  return MergeEntries(directory);
}

absl::Status TreeWriter::SortSubdirectories(const Directory& directory) {
  sorter_.Start();
  EntryReader entries(stack_, directory.entries);
  for (absl::string_view packed;;) {
    RETURN_IF_ERROR(entries.Next(packed));
    if (packed.empty()) return sorter_.Sort();
    if (UnpackEntry(packed.data()).directory) RETURN_IF_ERROR(sorter_.Add(packed));
  }
}

absl::Status TreeWriter::MergeEntries(const Directory& directory) {
  EntryReader files(stack_, directory.entries);
  const char* subdirectory = nullptr;
  if (directory.subdirectories > 0) RETURN_IF_ERROR(sorter_.Next(subdirectory));
  for (absl::string_view packed;;) {
    RETURN_IF_ERROR(files.Next(packed));
    const bool end = packed.empty();
    const DirectoryEntry file = end ? DirectoryEntry() : UnpackEntry(packed.data());
    if (file.directory) continue;
    while (subdirectory != nullptr) {
      const DirectoryEntry entry = UnpackEntry(subdirectory);
      if (!end && entry.name >= file.name) break;
      RETURN_IF_ERROR(writer_.Add(entry));
      RETURN_IF_ERROR(sorter_.Next(subdirectory));
    }
    if (end) return absl::OkStatus();
    const bool hidden = subdirectory != nullptr && UnpackEntry(subdirectory).name == file.name;
    RETURN_IF_ERROR(hidden ? Hide(file) : writer_.Add(file));
  }
}

// The inode stays in the image, unused; so does the object's row in the table.
absl::Status TreeWriter::Hide(const DirectoryEntry& file) {
  erofs::Inode inode;
  RETURN_IF_ERROR(meta_.Read(file.nid << erofs::kNidBits, {reinterpret_cast<char*>(&inode), sizeof inode}));
  --report_.files;
  report_.bytes -= inode.size;
  report_.archived -= file.archived;
  report_.Skip(SkipReason::kShadowedByDirectory, absl::StrCat(settings_.key_prefix, path_, file.name));
  return absl::OkStatus();
}

DirectoryInode TreeWriter::InodeOf(const Directory& directory) const {
  const TimeParts time =
      directory.marked ? FromMilliseconds(directory.modified_ms) : FromTime(settings_.directory_time);
  DirectoryInode inode;
  inode.mode = static_cast<uint16_t>(S_IFDIR | (0777 & ~settings_.umask));
  inode.uid = settings_.uid;
  inode.gid = settings_.gid;
  inode.mtime_seconds = time.seconds;
  inode.mtime_nanoseconds = time.nanoseconds;
  inode.links = directory.subdirectories + 2;
  return inode;
}

absl::Status TreeWriter::WriteFileInode(const FileFacts& file, uint64_t& nid) {
  const bool far = file.size > 0 && space_.is_far(file.place.device);
  const uint64_t chunks = far ? ChunksOf(file.size) : 0;
  MetaFile::Slot slot;
  RETURN_IF_ERROR(meta_.Allocate(sizeof(erofs::Inode) + chunks * sizeof(erofs::ChunkIndex), slot));
  nid = slot.offset >> erofs::kNidBits;

  const TimeParts time = FromMilliseconds(file.modified_ms);
  erofs::Inode inode = {};
  inode.format = far ? erofs::kChunkBased : erofs::kFlatPlain;
  inode.mode = static_cast<uint16_t>(S_IFREG | (0666 & ~settings_.umask));
  inode.size = file.size;
  inode.ino = static_cast<uint32_t>(nid);
  inode.uid = settings_.uid;
  inode.gid = settings_.gid;
  inode.mtime_seconds = time.seconds;
  inode.mtime_nanoseconds = time.nanoseconds;
  inode.links = 1;
  if (far) {
    inode.start = WriteChunks(file.place, chunks, slot.data + sizeof inode);
  } else if (file.size > 0) {
    inode.start = static_cast<uint32_t>(space_.FlatBlock(file.place));
  }
  std::memcpy(slot.data, &inode, sizeof inode);
  return absl::OkStatus();
}

absl::Status TreeWriter::Push(const DirectoryEntry& entry) {
  char header[kEntryHeader];
  StoreLittle(header, PackEntryHeader(entry));
  return stack_.Push({header, sizeof header}, entry.name);
}

absl::Status TreeWriter::Finish() {
  while (depth_ > 0) RETURN_IF_ERROR(Close());
  RETURN_IF_ERROR(Close());
  root_nid_ = open_[0].nid;
  return absl::OkStatus();
}

}  // namespace bucketvol
