#include "test/bucketd/checksum.h"

#include <array>
#include <cstdint>

#include "absl/strings/escaping.h"
#include "mounter/base/crc.h"
#include "test/bucketd/digest.h"

namespace bucketvol::bucketd {
namespace {

template <typename Word>
std::string BigEndian(Word value) {
  std::string bytes;
  for (int shift = 8 * (static_cast<int>(sizeof(Word)) - 1); shift >= 0; shift -= 8) {
    bytes += static_cast<char>(value >> shift);
  }
  return absl::Base64Escape(bytes);
}

// A reflected CRC with all-ones initial and final value.
template <typename Word, Word kPolynomial>
class TableCrc final : public Checksum {
 public:
  void Update(absl::string_view data) override {
    for (const char c : data)
      state_ = kTable[(state_ ^ static_cast<unsigned char>(c)) & 0xff] ^ (state_ >> 8);
  }
  std::string Finish() override { return BigEndian<Word>(~state_); }

 private:
  static constexpr std::array<Word, 256> MakeTable() {
    std::array<Word, 256> table{};
    for (unsigned i = 0; i < 256; ++i) {
      Word value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? kPolynomial : 0);
      table[i] = value;
    }
    return table;
  }
  static constexpr std::array<Word, 256> kTable = MakeTable();
  Word state_ = ~Word{0};
};

class Crc32cChecksum final : public Checksum {
 public:
  void Update(absl::string_view data) override { crc_ = Crc32c(crc_, data); }
  std::string Finish() override { return BigEndian(crc_); }

 private:
  uint32_t crc_ = 0;
};

class DigestChecksum final : public Checksum {
 public:
  explicit DigestChecksum(DigestKind kind) : digest_(kind) {}
  void Update(absl::string_view data) override { digest_.Update(data); }
  std::string Finish() override { return absl::Base64Escape(digest_.Finish()); }

 private:
  Digest digest_;
};

}  // namespace

std::unique_ptr<Checksum> Checksum::Make(absl::string_view name) {
  if (name == "crc32") return std::make_unique<TableCrc<uint32_t, 0xEDB88320u>>();
  if (name == "crc32c") return std::make_unique<Crc32cChecksum>();
  if (name == "crc64nvme") return std::make_unique<TableCrc<uint64_t, 0x9A6C9329AC4BC9B5u>>();
  if (name == "sha1") return std::make_unique<DigestChecksum>(DigestKind::kSha1);
  if (name == "sha256") return std::make_unique<DigestChecksum>(DigestKind::kSha256);
  return nullptr;
}

}  // namespace bucketvol::bucketd
