// Feeds arbitrary bytes to the reader of ZIP directories: first the end of an archive, then its directory.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "mounter/prefetch/zip_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using bucketvol::ByteRange;
  using bucketvol::ZipDirectory;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr uint64_t kObjectSize = 1 << 30;
  const std::optional<ByteRange> range =
      ZipDirectory::Range(bytes.substr(0, ZipDirectory::kEndBytes), kObjectSize);
  if (range && (range->begin >= range->end || range->end > kObjectSize)) abort();
  const std::optional<std::vector<uint64_t>> boundaries =
      ZipDirectory::Boundaries(bytes, {kObjectSize, kObjectSize + size});
  if (!boundaries) return 0;
  if (boundaries->empty() || boundaries->back() > kObjectSize) abort();
  if (!std::is_sorted(boundaries->begin(), boundaries->end())) abort();
  return 0;
}
