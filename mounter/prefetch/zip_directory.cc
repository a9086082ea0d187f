#include "mounter/prefetch/zip_directory.h"

#include <utility>

#include "absl/strings/match.h"
#include "mounter/base/coding.h"
#include "mounter/prefetch/boundaries.h"

namespace bucketvol {

namespace {

constexpr uint64_t kWide = UINT32_MAX;  // The value stands in a 64-bit field.
constexpr size_t kRecordBytes = 46;
constexpr uint16_t kWideFields = 1;  // Id of the extra field that holds them.

struct Record {
  uint64_t header_offset;
  size_t bytes;  // Of the record.
};

// The 64-bit field of the offset comes behind those of the two sizes, each only if it is needed.
std::optional<uint64_t> WideOffset(absl::string_view extra, size_t before) {
  while (extra.size() >= 4) {
    const auto id = LoadLittle<uint16_t>(extra.data());
    const size_t length = LoadLittle<uint16_t>(extra.data() + 2);
    extra.remove_prefix(4);
    if (length > extra.size()) return std::nullopt;
    if (id == kWideFields && length >= before + 8) return LoadLittle<uint64_t>(extra.data() + before);
    extra.remove_prefix(length);
  }
  return std::nullopt;
}

std::optional<Record> ReadRecord(absl::string_view directory) {
  if (directory.size() < kRecordBytes || !absl::StartsWith(directory, "PK\1\2")) return std::nullopt;
  const char* const at = directory.data();
  const size_t name = LoadLittle<uint16_t>(at + 28);
  const size_t extra = LoadLittle<uint16_t>(at + 30);
  const size_t comment = LoadLittle<uint16_t>(at + 32);
  Record record{LoadLittle<uint32_t>(at + 42), kRecordBytes + name + extra + comment};
  if (record.bytes > directory.size()) return std::nullopt;
  if (record.header_offset != kWide) return record;
  const size_t sizes =
      (LoadLittle<uint32_t>(at + 20) == kWide ? 8 : 0) + (LoadLittle<uint32_t>(at + 24) == kWide ? 8 : 0);
  const std::optional<uint64_t> wide = WideOffset(directory.substr(kRecordBytes + name, extra), sizes);
  if (!wide) return std::nullopt;
  record.header_offset = *wide;
  return record;
}

}  // namespace

std::optional<ByteRange> ZipDirectory::Range(absl::string_view last_bytes, uint64_t object_size) {
  if (last_bytes.size() != kEndBytes) return std::nullopt;
  const absl::string_view wide = last_bytes;
  const absl::string_view locator = last_bytes.substr(56);
  const absl::string_view last = locator.substr(20);
  if (!absl::StartsWith(last, "PK\5\6")) return std::nullopt;
  uint64_t size = LoadLittle<uint32_t>(last.data() + 12);
  uint64_t offset = LoadLittle<uint32_t>(last.data() + 16);
  if (absl::StartsWith(locator, "PK\6\7") && absl::StartsWith(wide, "PK\6\6")) {
    size = LoadLittle<uint64_t>(wide.data() + 40);
    offset = LoadLittle<uint64_t>(wide.data() + 48);
  }
  if (size < kRecordBytes || size > kMaxBytes || size > object_size || offset > object_size - size)
    return std::nullopt;
  return ByteRange{offset, offset + size};
}

std::optional<std::vector<uint64_t>> ZipDirectory::Boundaries(absl::string_view directory, ByteRange range) {
  if (directory.size() != range.size()) return std::nullopt;
  std::vector<uint64_t> offsets;
  while (!directory.empty()) {
    const std::optional<Record> record = ReadRecord(directory);
    if (!record || record->header_offset >= range.begin) return std::nullopt;
    offsets.push_back(record->header_offset);
    directory.remove_prefix(record->bytes);
  }
  if (offsets.empty()) return std::nullopt;
  offsets.push_back(range.begin);
  return JoinSmallParts(std::move(offsets));
}

}  // namespace bucketvol
