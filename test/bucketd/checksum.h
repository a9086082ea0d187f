#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace bucketvol::bucketd {

/// A running checksum of those S3 knows: the NAME of `x-amz-checksum-NAME`. Not thread-safe.
class Checksum {
 public:
  virtual ~Checksum() = default;
  virtual void Update(absl::string_view data) = 0;
  /// The value as the header carries it: base64 of the bytes, most significant first. Call once.
  virtual std::string Finish() = 0;

  /// crc32, crc32c, crc64nvme, sha1 or sha256; null for another name.
  static std::unique_ptr<Checksum> Make(absl::string_view name);
};

}  // namespace bucketvol::bucketd
