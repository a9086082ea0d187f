#include "mounter/index/sealed_file.h"

#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"
#include "mounter/base/crc.h"

namespace bucketvol {
namespace {

constexpr size_t kMagicBytes = 8;
constexpr size_t kVersionAt = kMagicBytes;
constexpr size_t kChecksumAt = 12;
constexpr absl::string_view kNoChecksum("\0\0\0\0", 4);

// The field of the checksum counts as zero.
uint32_t ChecksumOf(absl::string_view bytes) {
  const uint32_t before = Crc32c(0, bytes.substr(0, kChecksumAt));
  return Crc32c(Crc32c(before, kNoChecksum), bytes.substr(kSealedHeadBytes));
}

}  // namespace

std::string SealedHead(const SealedFormat& format) {
  std::string head(format.magic);
  AppendLittle(head, format.version);
  head.append(kNoChecksum.data(), kNoChecksum.size());
  return head;
}

void Seal(std::string& bytes) { StoreLittle(&bytes[kChecksumAt], ChecksumOf(bytes)); }

absl::Status CheckFormat(const SealedFormat& format, absl::string_view bytes) {
  if (bytes.size() < kSealedHeadBytes || bytes.substr(0, kMagicBytes) != format.magic)
    return DamagedFile(format, "no header");
  const auto version = LoadLittle<uint32_t>(bytes.data() + kVersionAt);
  if (version == format.version) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(format.name, " of another version: ", version));
}

absl::Status CheckSeal(const SealedFormat& format, absl::string_view bytes) {
  const bool whole = LoadLittle<uint32_t>(bytes.data() + kChecksumAt) == ChecksumOf(bytes);
  return whole ? absl::OkStatus() : DamagedFile(format, "checksum");
}

absl::Status DamagedFile(const SealedFormat& format, absl::string_view what) {
  return absl::DataLossError(absl::StrCat("damaged ", format.name, ": ", what));
}

}  // namespace bucketvol
