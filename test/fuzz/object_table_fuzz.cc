// The object table's reader, with bytes as they come and with all checksums set right, so that the rows are
// reached too.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "mounter/base/coding.h"
#include "mounter/base/crc.h"
#include "mounter/index/index_file.h"
#include "mounter/index/object_table_format.h"

namespace {

namespace format = bucketvol::table_format;
using bucketvol::Crc32c;
using bucketvol::LoadLittle;
using bucketvol::StoreLittle;

void Check(const bucketvol::ObjectTable& table, uint32_t device, uint64_t offset) {
  const auto found = table.Find(device, offset);
  if (!found.ok() || !found->has_value()) return;
  if ((*found)->device != device || (*found)->offset + (*found)->size <= offset) std::abort();
}

void Read(const std::string& bytes) {
  const bucketvol::UniqueFd fd(memfd_create("table", MFD_CLOEXEC));
  if (write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  const auto table = bucketvol::ObjectTable::Open(fd, "table");
  if (!table.ok()) return;
  for (uint64_t row = 0; row < 200 && row <= (*table)->rows(); ++row) {
    const auto at = (*table)->At(row);
    if (at.ok()) Check(**table, at->device, at->offset);
  }
  for (uint32_t device = 0; device < 4; ++device) {
    for (const uint64_t offset : {uint64_t{0}, uint64_t{1} << 20, uint64_t{1} << 45, UINT64_MAX}) {
      Check(**table, device, offset);
    }
  }
}

// Sets the checksum of the header, and of each block whose index entries lie within the file.
void SealAll(std::string& bytes) {
  if (bytes.size() < format::kHeaderBytes) return;
  const auto prefix = LoadLittle<uint32_t>(&bytes[format::kPrefixBytesAt]);
  if (prefix > bytes.size() - format::kHeaderBytes) return;
  std::string header = bytes.substr(0, format::kHeaderBytes + prefix);
  bucketvol::Seal(header);
  bytes.replace(0, header.size(), header);
  const auto index = LoadLittle<uint64_t>(&bytes[format::kIndexOffsetAt]);
  const size_t entry = format::EntryBytes(LoadLittle<uint32_t>(&bytes[format::kDevicesAt]) % 32);
  for (uint64_t at = index; at <= bytes.size() && bytes.size() - at >= 2 * entry; at += entry) {
    StoreLittle(&bytes[at + format::kEntryChecksumAt], uint32_t{0});
    std::string next = bytes.substr(at + entry, entry);
    StoreLittle(&next[format::kEntryChecksumAt], uint32_t{0});
    const auto begin = LoadLittle<uint64_t>(&bytes[at]), end = LoadLittle<uint64_t>(&next[0]);
    if (begin > end || end > bytes.size()) continue;
    uint32_t checksum = Crc32c(0, absl::string_view(bytes).substr(begin, end - begin));
    checksum = Crc32c(Crc32c(checksum, absl::string_view(bytes).substr(at, entry)), next);
    StoreLittle(&bytes[at + format::kEntryChecksumAt], checksum);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Read(bytes);
  SealAll(bytes);
  Read(bytes);
  return 0;
}
