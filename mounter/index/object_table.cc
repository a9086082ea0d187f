#include <fcntl.h>

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/address_space.h"
#include "mounter/index/erofs_format.h"
#include "mounter/index/etag_code.h"
#include "mounter/index/index_file.h"
#include "mounter/index/object_table_blocks.h"

namespace bucketvol {
namespace {

namespace format = table_format;

// A row's device has five bits; reserving them all spares a range check per row.
constexpr size_t kMostDevices = 32;
static_assert(erofs::kMaxDevices <= kMostDevices);

absl::Status Damaged(absl::string_view what) { return DamagedFile(format::kFormat, what); }

struct Row {
  EtagKind etag_kind;
  uint32_t device;
  uint64_t size;
  absl::string_view etag;  // The stored form, and what follows.
  uint64_t block;          // Where the object begins on its device.
};

/// Walks the rows of one block, which must outlive it.
class RowReader {
 public:
  RowReader(const TableBlock& block, uint32_t devices) : in_(block.rows.data(), block.rows.size()) {
    for (uint32_t i = 0; i < devices; ++i) cursors_[i] = block.begin(i);
  }

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

}  // namespace

struct ObjectTable::Impl {
  absl::StatusOr<ObjectExtent> MakeExtent(uint64_t row_number, const RowReader& reader, const Row& row) const;

  const std::unique_ptr<TableBlocks> table;
};

absl::StatusOr<ObjectExtent> ObjectTable::Impl::MakeExtent(uint64_t row_number, const RowReader& reader,
                                                           const Row& row) const {
  absl::string_view in = row.etag;
  auto etag = ConsumeEtag(row.etag_kind, in);
  if (!etag || row.device >= table->header().devices) return Damaged("row");
  ObjectExtent extent;
  extent.row = row_number;
  extent.key = absl::StrCat(table->header().prefix, reader.path());
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
  ASSIGN_OR_RETURN(std::unique_ptr<TableBlocks> table, TableBlocks::Open(fd, name));
  return std::unique_ptr<ObjectTable>(new ObjectTable(std::unique_ptr<Impl>(new Impl{std::move(table)})));
}

ObjectTable::ObjectTable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ObjectTable::~ObjectTable() = default;

absl::StatusOr<uint32_t> ObjectTable::Checksum() const { return impl_->table->Checksum(); }
uint64_t ObjectTable::rows() const { return impl_->table->header().rows; }
const std::string& ObjectTable::build_id() const { return impl_->table->header().build_id; }

absl::StatusOr<std::optional<ObjectExtent>> ObjectTable::Find(uint32_t device, uint64_t offset) const {
  if (device >= impl_->table->header().devices || rows() == 0) return std::nullopt;
  const uint64_t at = std::max(offset >> erofs::kBlockBits, AddressSpace::kEdgeBlocks);
  ASSIGN_OR_RETURN(const std::shared_ptr<const TableBlock> block, impl_->table->Find(device, at));
  if (block->end(device) <= at) return std::nullopt;
  RowReader reader(*block, impl_->table->header().devices);
  Row row;
  for (uint64_t i = 0; reader.Next(row); ++i) {
    const uint64_t end = row.block + AddressSpace::BlocksOf(row.size);
    if (row.device != device || end <= at) continue;
    // The zeros behind an object's last byte belong to nobody: the next object follows.
    if ((row.block << erofs::kBlockBits) + row.size <= offset) return Find(device, end << erofs::kBlockBits);
    ASSIGN_OR_RETURN(ObjectExtent extent,
                     impl_->MakeExtent(block->number * format::kRowsPerBlock + i, reader, row));
    return extent;
  }
  return Damaged("rows");
}

absl::StatusOr<ObjectExtent> ObjectTable::At(uint64_t row_number) const {
  if (row_number >= rows())
    return absl::OutOfRangeError(absl::StrCat("object table has no row ", row_number));
  ASSIGN_OR_RETURN(const std::shared_ptr<const TableBlock> block,
                   impl_->table->Get(row_number / format::kRowsPerBlock));
  RowReader reader(*block, impl_->table->header().devices);
  Row row;
  for (uint64_t i = 0; i <= row_number % format::kRowsPerBlock; ++i) {
    if (!reader.Next(row)) return Damaged("rows");
  }
  return impl_->MakeExtent(row_number, reader, row);
}

}  // namespace bucketvol
