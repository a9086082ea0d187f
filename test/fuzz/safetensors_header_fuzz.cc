// Feeds arbitrary bytes to the parser of safetensors headers.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

#include "mounter/prefetch/safetensors_header.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  constexpr uint64_t kObjectSize = 1 << 30;
  const std::optional<std::vector<uint64_t>> boundaries =
      bucketvol::SafetensorsHeader::Boundaries(bytes, kObjectSize);
  if (!boundaries) return 0;
  if (boundaries->empty() || boundaries->back() > kObjectSize) abort();
  if (!std::is_sorted(boundaries->begin(), boundaries->end())) abort();
  return 0;
}
