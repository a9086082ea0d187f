#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "mounter/objstore/service_error.h"
#include "mounter/objstore/store_error.h"

// Error documents: whatever the bytes, an error comes out of them, with a message of one line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  bucketvol::ServiceError error;
  error.http_status = 403;
  bucketvol::ReadErrorBody({reinterpret_cast<const char*>(data), size}, error);
  const absl::Status status =
      bucketvol::StatusOfServiceError(error, bucketvol::Dialect::kOss, "cannot list oss://b");
  if (status.ok() || status.message().find('\n') != absl::string_view::npos) std::abort();
  if (!bucketvol::StoreErrorOf(status)) std::abort();
  return 0;
}
