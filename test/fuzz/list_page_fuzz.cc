#include "test/fuzz/list_page_fuzz.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

// Listings: the scanner and expat must give the same page, or both an error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view document(reinterpret_cast<const char*>(data), size);
  if (!bucketvol::DifferenceOfListReaders(document).empty()) std::abort();
  return 0;
}
