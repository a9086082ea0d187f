#include "mounter/index/object_table_blocks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"
#include "mounter/base/crc.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/erofs_format.h"

namespace bucketvol {
namespace {

namespace format = table_format;

// Far more than any 64 rows: keeps a damaged index from asking for gigabytes.
constexpr uint64_t kMostBlockBytes = 16 << 20;
// Entries that a search reads at once in its end: one read of a page or two.
constexpr uint64_t kEntriesAtOnce = 64;

absl::Status Damaged(absl::string_view what) { return DamagedFile(format::kFormat, what); }

}  // namespace

uint64_t TableEntries::Offset(uint64_t block) const { return LoadLittle<uint64_t>(At(block)); }

uint32_t TableEntries::Checksum(uint64_t block) const {
  return LoadLittle<uint32_t>(At(block) + format::kEntryChecksumAt);
}

uint64_t TableEntries::Cursor(uint64_t block, uint32_t device) const {
  return LoadLittle<uint64_t>(At(block) + format::kEntryCursorsAt + 8 * device);
}

uint32_t TableEntries::Extend(uint32_t crc, uint64_t block) const {
  crc = Crc32c(crc, {At(block), format::kEntryChecksumAt});
  crc = Crc32c(crc, {"\0\0\0\0", 4});
  return Crc32c(crc, {At(block) + format::kEntryCursorsAt, entry_bytes_ - format::kEntryCursorsAt});
}

uint64_t TableEntries::LastBlockAt(uint32_t device, uint64_t at) const {
  uint64_t low = first_, high = first_ + bytes_.size() / entry_bytes_ - 1;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    (Cursor(middle, device) <= at ? low : high) = middle;
  }
  return low;
}

TableEntries TableEntries::PairAt(uint64_t block) const {
  return {block, entry_bytes_, std::vector<char>(At(block), At(block) + 2 * entry_bytes_)};
}

absl::StatusOr<std::unique_ptr<TableBlocks>> TableBlocks::Open(const UniqueFd& fd, absl::string_view name) {
  UniqueFd own(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  struct stat info;
  if (!own.valid() || fstat(own.get(), &info) != 0) return ErrnoToStatus(errno, absl::StrCat("open ", name));
  std::unique_ptr<TableBlocks> table(new TableBlocks(std::move(own), std::string(name)));
  if (auto read = table->ReadHeader(static_cast<uint64_t>(info.st_size)); !read.ok())
    return Annotate(read, name);
  table->top_ = std::vector<std::atomic<uint64_t>>(kTopNodes * table->header_.devices);
  return table;
}

absl::Status TableBlocks::Read(uint64_t offset, absl::Span<char> out) const {
  return ReadExactlyAt(fd_.get(), out, offset, name_);
}

absl::Status TableBlocks::ReadHeader(uint64_t file_size) {
  std::string bytes(format::kHeaderBytes, '\0');
  if (file_size < bytes.size()) return Damaged("no header");
  RETURN_IF_ERROR(Read(0, absl::MakeSpan(bytes)));
  RETURN_IF_ERROR(CheckFormat(format::kFormat, bytes));
  const auto prefix_bytes = LoadLittle<uint32_t>(&bytes[format::kPrefixBytesAt]);
  if (prefix_bytes > file_size - format::kHeaderBytes) return Damaged("prefix");
  bytes.resize(format::kHeaderBytes + prefix_bytes);
  RETURN_IF_ERROR(Read(format::kHeaderBytes, absl::MakeSpan(bytes).subspan(format::kHeaderBytes)));
  RETURN_IF_ERROR(CheckSeal(format::kFormat, bytes));
  header_.build_id = bytes.substr(format::kBuildIdAt, format::kBuildIdBytes);
  header_.rows = LoadLittle<uint64_t>(&bytes[format::kRowsAt]);
  header_.index_offset = LoadLittle<uint64_t>(&bytes[format::kIndexOffsetAt]);
  header_.devices = LoadLittle<uint32_t>(&bytes[format::kDevicesAt]);
  header_.prefix = bytes.substr(format::kHeaderBytes);
  return CheckSizes(file_size);
}

absl::Status TableBlocks::CheckSizes(uint64_t file_size) const {
  if (header_.devices > erofs::kMaxDevices || (header_.rows > 0 && header_.devices == 0))
    return Damaged("devices");
  if (header_.rows > file_size || header_.index_offset > file_size) return Damaged("rows");
  if ((header_.blocks() + 1) * format::EntryBytes(header_.devices) != file_size - header_.index_offset)
    return Damaged("length");
  return absl::OkStatus();
}

// Both ends included.
absl::StatusOr<TableEntries> TableBlocks::ReadEntries(uint64_t first, uint64_t last) const {
  const size_t entry_bytes = format::EntryBytes(header_.devices);
  std::vector<char> bytes((last - first + 1) * entry_bytes);
  RETURN_IF_ERROR(Read(header_.index_offset + first * entry_bytes, absl::MakeSpan(bytes)));
  return TableEntries(first, entry_bytes, std::move(bytes));
}

absl::StatusOr<uint64_t> TableBlocks::Step(uint64_t node, uint64_t block, uint32_t device) {
  std::atomic<uint64_t>* const kept = node < kTopNodes ? &top_[node * header_.devices + device] : nullptr;
  if (kept != nullptr) {
    if (const uint64_t known = kept->load(std::memory_order_relaxed); known != 0) return known;
  }
  ASSIGN_OR_RETURN(const TableEntries entry, ReadEntries(block, block));
  const uint64_t cursor = entry.Cursor(block, device);
  if (kept != nullptr) kept->store(cursor, std::memory_order_relaxed);
  return cursor;
}

// Entries among which is the last block that begins at or before `at`, and the one behind it. Nothing is
// verified here: ReadBlock verifies the found one together with the next, and Find compares with both.
absl::StatusOr<TableEntries> TableBlocks::Search(uint32_t device, uint64_t at) {
  uint64_t low = 0, high = header_.blocks();
  for (uint64_t node = 1; high - low > kEntriesAtOnce;) {
    const uint64_t middle = low + (high - low) / 2;
    ASSIGN_OR_RETURN(const uint64_t cursor, Step(node, middle, device));
    (cursor <= at ? low : high) = middle;
    node = 2 * node + (cursor <= at ? 1 : 0);
  }
  return ReadEntries(low, high);
}

template <typename Wanted>
TableBlocks::BlockPtr TableBlocks::Recent(const Wanted& wanted) const {
  absl::MutexLock lock(&mu_);
  for (const BlockPtr& block : recent_) {
    if (block != nullptr && wanted(*block)) return block;
  }
  return nullptr;
}

absl::StatusOr<TableBlocks::BlockPtr> TableBlocks::ReadBlock(const TableEntries& entries, uint64_t number) {
  const uint64_t begin = entries.Offset(number), end = entries.Offset(number + 1);
  if (begin < format::kHeaderBytes || begin > end || end > header_.index_offset ||
      end - begin > kMostBlockBytes) {
    return Damaged("index");
  }
  auto block = std::make_shared<TableBlock>();
  block->number = number;
  block->entries = entries.PairAt(number);
  block->rows.resize(end - begin);
  RETURN_IF_ERROR(Read(begin, absl::MakeSpan(block->rows)));
  const uint32_t checksum = Crc32c(0, {block->rows.data(), block->rows.size()});
  if (entries.Extend(entries.Extend(checksum, number), number + 1) != entries.Checksum(number))
    return Damaged("checksum");
  absl::MutexLock lock(&mu_);
  recent_[oldest_] = block;
  oldest_ = (oldest_ + 1) % kRecent;
  return block;
}

absl::StatusOr<TableBlocks::BlockPtr> TableBlocks::Find(uint32_t device, uint64_t at) {
  const auto holds = [&](const TableBlock& block) {
    return block.begin(device) <= at && at < block.end(device);
  };
  if (BlockPtr recent = Recent(holds)) return recent;
  ASSIGN_OR_RETURN(const TableEntries entries, Search(device, at));
  ASSIGN_OR_RETURN(BlockPtr block, ReadBlock(entries, entries.LastBlockAt(device, at)));
  const bool last = block->number + 1 == header_.blocks();
  if (block->begin(device) > at || (block->end(device) <= at && !last)) return Damaged("index order");
  return block;
}

absl::StatusOr<uint32_t> TableBlocks::Checksum() const {
  constexpr uint64_t kBytesAtOnce = 256 << 10;
  const uint64_t end = header_.index_offset + (header_.blocks() + 1) * format::EntryBytes(header_.devices);
  uint32_t checksum = 0;
  for (uint64_t at = header_.index_offset; at < end;) {
    std::string bytes(std::min(end - at, kBytesAtOnce), '\0');
    RETURN_IF_ERROR(Read(at, absl::MakeSpan(bytes)));
    checksum = Crc32c(checksum, bytes);
    at += bytes.size();
  }
  return checksum;
}

absl::StatusOr<TableBlocks::BlockPtr> TableBlocks::Get(uint64_t number) {
  if (BlockPtr recent = Recent([&](const TableBlock& block) { return block.number == number; }))
    return recent;
  ASSIGN_OR_RETURN(const TableEntries entries, ReadEntries(number, number + 1));
  return ReadBlock(entries, number);
}

}  // namespace bucketvol
