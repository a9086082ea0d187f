#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"
#include "mounter/base/crc.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/address_space.h"
#include "mounter/index/erofs_format.h"
#include "mounter/index/etag_code.h"
#include "mounter/index/index_file.h"
#include "mounter/index/object_table_format.h"

namespace bucketvol {
namespace {

namespace format = table_format;

// A row's device has five bits; reserving them all spares a range check per row.
constexpr size_t kMostDevices = 32;
static_assert(erofs::kMaxDevices <= kMostDevices);

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("object table is damaged: ", what));
}

struct Row {
  EtagKind etag_kind;
  uint32_t device;
  uint64_t size;
  absl::string_view etag;  // The stored form, and what follows.
  uint64_t block;          // Where the object begins on its device.
};

/// Walks the rows of one block.
class RowReader {
 public:
  explicit RowReader(absl::string_view rows) : in_(rows) {}

  void SetCursor(size_t device, uint64_t block) { cursors_[device] = block; }
  absl::string_view path() const { return path_; }

  /// False when the bytes make no row.
  bool Next(Row& row) {
    if (in_.empty()) return false;
    const auto head = static_cast<uint8_t>(in_.front());
    in_.remove_prefix(1);
    row.etag_kind = static_cast<EtagKind>(head & ((1 << format::kEtagKindBits) - 1));
    row.device = head >> format::kEtagKindBits;
    const auto size = ConsumeVarint(in_);
    if (!size || *size == 0 || *size > AddressSpace::kMaxObjectBytes || !NextPath()) return false;
    row.size = *size;
    row.etag = in_;
    row.block = cursors_[row.device];
    cursors_[row.device] += AddressSpace::BlocksOf(row.size);
    return SkipEtag(row.etag_kind, in_);
  }

 private:
  bool NextPath() {
    const auto shared = ConsumeVarint(in_);
    if (!shared || *shared > path_.size()) return false;
    const auto rest = ConsumeVarint(in_);
    if (!rest || *rest > in_.size()) return false;
    path_.resize(*shared);
    path_.append(in_.data(), *rest);
    in_.remove_prefix(*rest);
    return true;
  }

  absl::string_view in_;
  std::string path_;
  std::array<uint64_t, kMostDevices> cursors_{};
};

struct Header {
  std::string build_id;
  uint64_t rows;
  uint64_t index_offset;
  uint32_t devices;
  std::string prefix;
};

absl::StatusOr<Header> ParseHeader(absl::string_view file) {
  if (file.size() < format::kHeaderBytes || file.substr(0, format::kMagic.size()) != format::kMagic) {
    return Damaged("no header");
  }
  const auto version = LoadLittle<uint32_t>(file.data() + format::kVersionAt);
  if (version != format::kVersion) {
    return absl::FailedPreconditionError(absl::StrCat("object table has another version: ", version));
  }
  const auto prefix_bytes = LoadLittle<uint32_t>(file.data() + format::kPrefixBytesAt);
  if (prefix_bytes > file.size() - format::kHeaderBytes) return Damaged("prefix");
  std::string bytes(file.substr(0, format::kHeaderBytes + prefix_bytes));
  StoreLittle(&bytes[format::kChecksumAt], uint32_t{0});
  if (Crc32c(0, bytes) != LoadLittle<uint32_t>(file.data() + format::kChecksumAt))
    return Damaged("header checksum");
  Header header;
  header.build_id = bytes.substr(format::kBuildIdAt, format::kBuildIdBytes);
  header.rows = LoadLittle<uint64_t>(&bytes[format::kRowsAt]);
  header.index_offset = LoadLittle<uint64_t>(&bytes[format::kIndexOffsetAt]);
  header.devices = LoadLittle<uint32_t>(&bytes[format::kDevicesAt]);
  header.prefix = bytes.substr(format::kHeaderBytes);
  return header;
}

}  // namespace

struct ObjectTable::Impl {
  Impl(MappedFile mapped, Header parsed) : file(std::move(mapped)), header(std::move(parsed)) {}

  absl::Status CheckSizes() const;
  uint64_t blocks() const { return (header.rows + format::kRowsPerBlock - 1) / format::kRowsPerBlock; }
  absl::string_view Entry(uint64_t block) const {
    const size_t bytes = format::EntryBytes(header.devices);
    return file.bytes().substr(header.index_offset + block * bytes, bytes);
  }
  uint64_t Cursor(uint64_t block, uint32_t device) const {
    return LoadLittle<uint64_t>(Entry(block).data() + format::kEntryCursorsAt + 8 * device);
  }
  uint32_t Checksum(uint32_t crc, uint64_t block) const;
  uint64_t FindBlock(uint32_t device, uint64_t block) const;
  absl::StatusOr<RowReader> OpenBlock(uint64_t block) const;
  absl::StatusOr<ObjectExtent> MakeExtent(uint64_t row_number, const RowReader& reader, const Row& row) const;

  const MappedFile file;
  const Header header;
};

absl::Status ObjectTable::Impl::CheckSizes() const {
  const uint64_t size = file.bytes().size();
  if (header.devices > erofs::kMaxDevices || (header.rows > 0 && header.devices == 0))
    return Damaged("devices");
  if (header.rows > size || header.index_offset > size) return Damaged("rows");
  if ((blocks() + 1) * format::EntryBytes(header.devices) != size - header.index_offset)
    return Damaged("length");
  return absl::OkStatus();
}

// An entry as it was when the checksum was made: its own checksum zero.
uint32_t ObjectTable::Impl::Checksum(uint32_t crc, uint64_t block) const {
  const absl::string_view entry = Entry(block);
  crc = Crc32c(crc, entry.substr(0, format::kEntryChecksumAt));
  crc = Crc32c(crc, {"\0\0\0\0", 4});
  return Crc32c(crc, entry.substr(format::kEntryCursorsAt));
}

// The last block that begins at or before `at` on a device. Entries are not verified here: OpenBlock verifies
// the found one together with the next, and the caller compares with both.
uint64_t ObjectTable::Impl::FindBlock(uint32_t device, uint64_t at) const {
  uint64_t low = 0, high = blocks();
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (Cursor(middle, device) <= at ? low : high) = middle;
  }
  return low;
}

absl::StatusOr<RowReader> ObjectTable::Impl::OpenBlock(uint64_t block) const {
  const auto begin = LoadLittle<uint64_t>(Entry(block).data());
  const auto end = LoadLittle<uint64_t>(Entry(block + 1).data());
  if (begin < format::kHeaderBytes || begin > end || end > header.index_offset) return Damaged("index");
  const absl::string_view rows = file.bytes().substr(begin, end - begin);
  const uint32_t checksum = Checksum(Checksum(Crc32c(0, rows), block), block + 1);
  if (checksum != LoadLittle<uint32_t>(Entry(block).data() + format::kEntryChecksumAt))
    return Damaged("checksum");
  RowReader reader(rows);
  for (uint32_t i = 0; i < header.devices; ++i) reader.SetCursor(i, Cursor(block, i));
  return reader;
}

absl::StatusOr<ObjectExtent> ObjectTable::Impl::MakeExtent(uint64_t row_number, const RowReader& reader,
                                                           const Row& row) const {
  absl::string_view in = row.etag;
  auto etag = ConsumeEtag(row.etag_kind, in);
  if (!etag || row.device >= header.devices) return Damaged("row");
  ObjectExtent extent;
  extent.row = row_number;
  extent.key = absl::StrCat(header.prefix, reader.path());
  extent.etag = *std::move(etag);
  extent.size = row.size;
  extent.device = row.device;
  extent.offset = row.block << erofs::kBlockBits;
  return extent;
}

absl::StatusOr<std::unique_ptr<ObjectTable>> ObjectTable::Open(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  return Open(fd, path);
}

absl::StatusOr<std::unique_ptr<ObjectTable>> ObjectTable::Open(const UniqueFd& fd, absl::string_view name) {
  ASSIGN_OR_RETURN(MappedFile file, MappedFile::Map(fd, name));
  auto header = ParseHeader(file.bytes());
  if (!header.ok()) return Annotate(header.status(), name);
  auto impl = std::make_unique<Impl>(std::move(file), *std::move(header));
  if (auto status = impl->CheckSizes(); !status.ok()) return Annotate(status, name);
  return std::unique_ptr<ObjectTable>(new ObjectTable(std::move(impl)));
}

ObjectTable::ObjectTable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ObjectTable::~ObjectTable() = default;

uint64_t ObjectTable::rows() const { return impl_->header.rows; }
const std::string& ObjectTable::build_id() const { return impl_->header.build_id; }

absl::StatusOr<std::optional<ObjectExtent>> ObjectTable::Find(uint32_t device, uint64_t offset) const {
  if (device >= impl_->header.devices || rows() == 0) return std::nullopt;
  const uint64_t at = std::max(offset >> erofs::kBlockBits, AddressSpace::kEdgeBlocks);
  const uint64_t block = impl_->FindBlock(device, at);
  ASSIGN_OR_RETURN(RowReader reader, impl_->OpenBlock(block));
  if (impl_->Cursor(block, device) > at) return Damaged("index order");
  if (impl_->Cursor(block + 1, device) <= at) {
    if (block + 1 != impl_->blocks()) return Damaged("index order");
    return std::nullopt;
  }
  Row row;
  for (uint64_t i = 0; reader.Next(row); ++i) {
    const uint64_t end = row.block + AddressSpace::BlocksOf(row.size);
    if (row.device != device || end <= at) continue;
    // The zeros behind an object's last byte belong to nobody: the next object follows.
    if ((row.block << erofs::kBlockBits) + row.size <= offset) return Find(device, end << erofs::kBlockBits);
    ASSIGN_OR_RETURN(ObjectExtent extent, impl_->MakeExtent(block * format::kRowsPerBlock + i, reader, row));
    return extent;
  }
  return Damaged("rows");
}

absl::StatusOr<ObjectExtent> ObjectTable::At(uint64_t row_number) const {
  if (row_number >= rows())
    return absl::OutOfRangeError(absl::StrCat("object table has no row ", row_number));
  ASSIGN_OR_RETURN(RowReader reader, impl_->OpenBlock(row_number / format::kRowsPerBlock));
  Row row;
  for (uint64_t i = 0; i <= row_number % format::kRowsPerBlock; ++i) {
    if (!reader.Next(row)) return Damaged("rows");
  }
  return impl_->MakeExtent(row_number, reader, row);
}

}  // namespace bucketvol
