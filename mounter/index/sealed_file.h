#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

// The head that the files of an index begin with: which file it is, its version, and a checksum of all that
// is sealed with it, the whole file or its first part. FORMAT.md has the bytes.
namespace bucketvol {

struct SealedFormat {
  absl::string_view name;   // For messages: "index manifest".
  absl::string_view magic;  // 8 bytes.
  uint32_t version;
};

inline constexpr size_t kSealedHeadBytes = 16;

/// The head, to be completed by Seal.
std::string SealedHead(const SealedFormat& format);
/// Sets the checksum of bytes that begin with a head. To be called when all of them are there.
void Seal(std::string& bytes);

/// Says whether `bytes`, which may be the beginning of what was sealed, are of this format.
/// FailedPrecondition: of another version of it. DataLoss: of none.
absl::Status CheckFormat(const SealedFormat& format, absl::string_view bytes);
/// Says whether `bytes`, of the right format, are all that was sealed and unchanged. DataLoss: they are not.
absl::Status CheckSeal(const SealedFormat& format, absl::string_view bytes);
/// A DataLoss that names the file.
absl::Status DamagedFile(const SealedFormat& format, absl::string_view what);

}  // namespace bucketvol
