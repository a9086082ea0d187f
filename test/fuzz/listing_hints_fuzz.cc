// The reader of listing hints, with bytes as they come and with the checksum set right, so that the fields
// are reached too.
#include <cstdlib>
#include <string>

#include "mounter/index/listing_hints.h"
#include "mounter/index/sealed_file.h"

namespace {

void Read(const std::string& bytes) {
  const auto hints = bucketvol::DecodeListingHints(bytes);
  if (!hints.ok()) return;
  if (hints->points.size() > bucketvol::kMostHints) std::abort();
  for (size_t i = 1; i < hints->points.size(); ++i) {
    if (hints->points[i] <= hints->points[i - 1]) std::abort();
  }
  const auto again = bucketvol::DecodeListingHints(bucketvol::EncodeListingHints(*hints));
  if (!again.ok() || again->points != hints->points || again->keys_apart != hints->keys_apart) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Read(bytes);
  if (size < bucketvol::kSealedHeadBytes) return 0;
  bucketvol::Seal(bytes);
  Read(bytes);
  return 0;
}
