#include "mounter/index/object_table_writer.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"
#include "mounter/base/crc.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/address_space.h"
#include "mounter/index/common_prefix.h"
#include "mounter/index/erofs_format.h"
#include "mounter/index/etag_code.h"
#include "mounter/index/object_table_format.h"

namespace bucketvol {
namespace {

namespace format = table_format;

constexpr size_t kBufferBytes = 256 << 10;
constexpr size_t kIndexMemory = 1 << 20;
constexpr size_t kMaxEtag = 1024;

// An entry while the number of devices is still growing.
struct SpooledEntry {
  uint64_t offset;
  uint32_t rows_checksum;  // Of the rows alone.
  uint32_t devices;
};

/// An index entry without its checksum, padded to the final number of devices.
std::string MakeEntry(uint64_t offset, absl::Span<const uint64_t> cursors, size_t devices) {
  std::string entry(format::EntryBytes(devices), '\0');
  StoreLittle(entry.data(), offset);
  for (size_t i = 0; i < devices; ++i) {
    StoreLittle(&entry[format::kEntryCursorsAt + 8 * i],
                i < cursors.size() ? cursors[i] : AddressSpace::kEdgeBlocks);
  }
  return entry;
}

/// Reads spooled entries back, one by one.
class Spool {
 public:
  Spool(const SpillStack& stack, size_t devices) : reader_(stack, 0, stack.size()), devices_(devices) {}

  absl::Status Next(std::string& entry, uint32_t& rows_checksum) {
    absl::string_view ahead;
    RETURN_IF_ERROR(reader_.Peek(sizeof(SpooledEntry) + 8 * erofs::kMaxDevices, ahead));
    SpooledEntry head;
    std::memcpy(&head, ahead.data(), sizeof head);
    std::vector<uint64_t> cursors(head.devices);
    std::memcpy(cursors.data(), ahead.data() + sizeof head, 8 * cursors.size());
    reader_.Skip(sizeof head + 8 * cursors.size());
    entry = MakeEntry(head.offset, cursors, devices_);
    rows_checksum = head.rows_checksum;
    return absl::OkStatus();
  }

 private:
  SpillStack::Reader reader_;
  const size_t devices_;
};

}  // namespace

ObjectTableWriter::ObjectTableWriter(StagedFile file, const std::string& scratch_directory,
                                     absl::string_view prefix)
    : file_(std::move(file)),
      prefix_(prefix),
      written_(format::kHeaderBytes + prefix.size()),
      index_(scratch_directory, kIndexMemory) {
  buffer_.reserve(kBufferBytes);
}

absl::Status ObjectTableWriter::Add(absl::string_view path, absl::string_view etag, uint64_t size,
                                    uint32_t device) {
  if (etag.size() > kMaxEtag) {
    return absl::InvalidArgumentError(
        absl::StrCat("ETag is longer than ", kMaxEtag, " bytes: ", prefix_, path));
  }
  if (device >= cursors_.size()) cursors_.resize(device + 1, AddressSpace::kEdgeBlocks);
  if (rows_ % format::kRowsPerBlock == 0) BeginBlock();

  const size_t head = block_.size();
  const size_t shared = CommonPrefix(last_path_, path);
  block_.push_back('\0');
  AppendVarint(block_, size);
  AppendVarint(block_, shared);
  AppendVarint(block_, path.size() - shared);
  block_.append(path.data() + shared, path.size() - shared);
  const EtagKind kind = AppendEtag(block_, etag);
  block_[head] = static_cast<char>(static_cast<unsigned>(kind) | device << format::kEtagKindBits);

  last_path_.assign(path.data(), path.size());
  cursors_[device] += AddressSpace::BlocksOf(size);
  return ++rows_ % format::kRowsPerBlock == 0 ? EndBlock() : absl::OkStatus();
}

void ObjectTableWriter::BeginBlock() {
  last_path_.clear();
  block_cursors_ = cursors_;
}

absl::Status ObjectTableWriter::EndBlock() {
  const SpooledEntry head = {bytes(), Crc32c(0, block_), static_cast<uint32_t>(block_cursors_.size())};
  RETURN_IF_ERROR(
      index_.Push({reinterpret_cast<const char*>(&head), sizeof head},
                  {reinterpret_cast<const char*>(block_cursors_.data()), 8 * block_cursors_.size()}));
  ++blocks_;
  RETURN_IF_ERROR(Append(block_));
  block_.clear();
  return absl::OkStatus();
}

absl::Status ObjectTableWriter::Append(absl::string_view data) {
  if (buffer_.size() + data.size() > kBufferBytes) RETURN_IF_ERROR(FlushBuffer());
  buffer_.append(data.data(), data.size());
  return absl::OkStatus();
}

absl::Status ObjectTableWriter::FlushBuffer() {
  RETURN_IF_ERROR(file_.WriteAt(buffer_, written_));
  digest_ = Crc32c(digest_, buffer_);
  written_ += buffer_.size();
  buffer_.clear();
  file_.WriteBehind(written_);
  return absl::OkStatus();
}

absl::Status ObjectTableWriter::Finish() {
  if (rows_ % format::kRowsPerBlock != 0) RETURN_IF_ERROR(EndBlock());
  RETURN_IF_ERROR(FlushBuffer());
  return WriteIndex();
}

// An entry's checksum covers the rows and both their ends, so it can be made when the next entry is known.
absl::Status ObjectTableWriter::WriteIndex() {
  index_offset_ = written_;
  const size_t devices = cursors_.size();
  const std::string end = MakeEntry(written_, cursors_, devices);
  Spool spool(index_, devices);
  std::string entry, next;
  uint32_t checksum = 0, next_checksum = 0;
  if (blocks_ > 0) RETURN_IF_ERROR(spool.Next(entry, checksum));
  for (uint64_t i = 1; i <= blocks_; ++i) {
    if (i < blocks_) {
      RETURN_IF_ERROR(spool.Next(next, next_checksum));
    } else {
      next = end;
    }
    checksum = Crc32c(Crc32c(checksum, entry), next);
    StoreLittle(&entry[format::kEntryChecksumAt], checksum);
    RETURN_IF_ERROR(Append(entry));
    std::swap(entry, next);
    checksum = next_checksum;
  }
  RETURN_IF_ERROR(Append(end));
  return FlushBuffer();
}

absl::Status ObjectTableWriter::WriteHeader(absl::string_view build_id) {
  std::string header = SealedHead(format::kFormat);
  header.resize(format::kHeaderBytes);
  header.replace(format::kBuildIdAt, format::kBuildIdBytes, build_id.data(), format::kBuildIdBytes);
  StoreLittle(&header[format::kRowsAt], rows_);
  StoreLittle(&header[format::kIndexOffsetAt], index_offset_);
  StoreLittle(&header[format::kDevicesAt], static_cast<uint32_t>(cursors_.size()));
  StoreLittle(&header[format::kPrefixBytesAt], static_cast<uint32_t>(prefix_.size()));
  header.append(prefix_);
  Seal(header);
  return file_.WriteAt(header, 0);
}

}  // namespace bucketvol
