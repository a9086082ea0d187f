#include "mounter/prefetch/format_hints.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "mounter/base/coding.h"
#include "mounter/prefetch/safetensors_header.h"
#include "mounter/prefetch/zip_directory.h"

namespace bucketvol {

namespace {

constexpr uint64_t kTail = 1 << 20;

class SafetensorsHints final : public FormatHints {
 public:
  // The length, and the first byte of the JSON.
  explicit SafetensorsHints(uint64_t object_size) : FormatHints(object_size, {{0, 9}}) {}

  Advice Take(ByteRange range, absl::string_view bytes) override {
    wanted_.clear();
    if (range.size() > 9) return {{}, SafetensorsHeader::Boundaries(bytes, size_).value_or(NoParts())};
    const std::optional<ByteRange> header = SafetensorsHeader::Range(bytes, size_);
    if (!header || header->size() <= 9 || bytes[8] != '{') return {};
    wanted_ = {*header};
    return {{*header}, {}};
  }

 private:
  static std::vector<uint64_t> NoParts() { return {}; }
};

// Readers look at the first bytes of an archive, then at its end; or at the end alone.
class ZipHints final : public FormatHints {
 public:
  explicit ZipHints(uint64_t object_size)
      : FormatHints(object_size, {{0, 4}, {object_size - ZipDirectory::kEndBytes, object_size}}) {}

  Advice Take(ByteRange range, absl::string_view bytes) override {
    const bool at_end = range.end == size_;
    wanted_ = {{size_ - ZipDirectory::kEndBytes, size_}};
    if (range.begin == 0) return TakeHead(bytes);
    wanted_.clear();
    if (!at_end) return {{}, ZipDirectory::Boundaries(bytes, range).value_or(std::vector<uint64_t>())};
    const std::optional<ByteRange> directory = ZipDirectory::Range(bytes, size_);
    if (!directory) return {};
    wanted_ = {*directory};
    return {{*directory}, {}};
  }

 private:
  Advice TakeHead(absl::string_view bytes) {
    if (ZipDirectory::BeginsOne(bytes)) return {{{size_ - kTail, size_}}, {}};
    wanted_.clear();
    return {};
  }
};

// "PAR1", columns, footer, its length in 4 bytes, "PAR1" (https://parquet.apache.org/docs/file-format/).
class ParquetHints final : public FormatHints {
 public:
  explicit ParquetHints(uint64_t object_size)
      : FormatHints(object_size, {{0, 4}, {object_size - 8, object_size}}) {}

  Advice Take(ByteRange range, absl::string_view bytes) override {
    wanted_.clear();
    if (!absl::EndsWith(bytes, "PAR1")) return {};
    if (range.begin == 0) {
      wanted_ = {{size_ - 8, size_}};
      return {{{size_ - kTail, size_}}, {}};
    }
    const uint64_t footer = LoadLittle<uint32_t>(bytes.data());
    if (footer > kLongestFooter || footer + 12 > size_) return {};
    return {{{size_ - 8 - footer, size_}}, {}};
  }

 private:
  static constexpr uint64_t kLongestFooter = 16 << 20;
};

}  // namespace

std::unique_ptr<FormatHints> FormatHints::For(absl::string_view key, uint64_t object_size) {
  if (object_size < kTail) return nullptr;
  const std::string name = absl::AsciiStrToLower(key.substr(key.size() - std::min<size_t>(key.size(), 16)));
  if (absl::EndsWith(name, ".safetensors")) return std::make_unique<SafetensorsHints>(object_size);
  if (absl::EndsWith(name, ".parquet")) return std::make_unique<ParquetHints>(object_size);
  for (const char* ending : {".pt", ".pth", ".ckpt", ".bin", ".npz", ".zip"}) {
    if (absl::EndsWith(name, ending)) return std::make_unique<ZipHints>(object_size);
  }
  return nullptr;
}

}  // namespace bucketvol
