// The manifest's reader, with bytes as they come and with the checksum set right, so that the fields are
// reached too.
#include <cstdlib>
#include <string>

#include "mounter/index/index_file.h"
#include "mounter/index/sealed_file.h"

namespace {

void Read(const std::string& bytes) {
  const auto manifest = bucketvol::DecodeIndexManifest(bytes);
  if (!manifest.ok()) return;
  (void)bucketvol::IndexReportText(*manifest);
  (void)bucketvol::IndexManifestJson(*manifest);
  const auto again = bucketvol::DecodeIndexManifest(bucketvol::EncodeIndexManifest(*manifest));
  if (!again.ok() || again->report.keys != manifest->report.keys) std::abort();
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
