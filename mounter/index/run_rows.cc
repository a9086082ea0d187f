#include "mounter/index/run_rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

namespace bucketvol {
namespace {

constexpr uint8_t kSymlink = 1;
constexpr uint8_t kArchived = 2;
constexpr uint8_t kUpperHex = 4;
constexpr uint8_t kLowerHex = 8;
constexpr size_t kHexDigits = 32;
constexpr size_t kHexBytes = 16;
constexpr size_t kMaxVarintBytes = 10;
// Flags, five varints, and a packed ETag that is shorter than the text it stands for.
constexpr size_t kMaxRowOverhead = 1 + 5 * kMaxVarintBytes;
constexpr size_t kBlockBytes = 256 * 1024;

constexpr char kUpperDigits[] = "0123456789ABCDEF";
constexpr char kLowerDigits[] = "0123456789abcdef";

char* PutVarint(char* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

char* PutText(char* out, absl::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
int64_t UnZigZag(uint64_t value) { return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1)); }

size_t SharedBytes(absl::string_view a, absl::string_view b) {
  const size_t limit = std::min(a.size(), b.size());
  size_t i = 0;
  for (; i + 8 <= limit; i += 8) {
    uint64_t x, y;
    std::memcpy(&x, a.data() + i, 8);
    std::memcpy(&y, b.data() + i, 8);
    if (x != y) break;
  }
  while (i < limit && a[i] == b[i]) ++i;
  return i;
}

// The value of each hex digit, with the flags of the alphabets it belongs to: digits belong to both.
struct HexTable {
  uint8_t value[256] = {};
  uint8_t alphabets[256] = {};
  constexpr HexTable() {
    for (unsigned i = 0; i < 16; ++i) {
      Set(kUpperDigits[i], i, kUpperHex);
      Set(kLowerDigits[i], i, kLowerHex);
    }
  }
  constexpr void Set(char digit, unsigned i, uint8_t alphabet) {
    const auto byte = static_cast<unsigned char>(digit);
    value[byte] = static_cast<uint8_t>(i);
    alphabets[byte] = static_cast<uint8_t>(alphabets[byte] | alphabet);
  }
};
constexpr HexTable kHex;

// Writes the 16 bytes behind 32 hex digits of one case and returns the flag of that case; 0, when the text is
// not so.
uint8_t PackHex(absl::string_view text, char* out) {
  if (text.size() < kHexDigits) return 0;
  uint8_t alphabets = kUpperHex | kLowerHex;
  for (size_t i = 0; i < kHexBytes; ++i) {
    const auto high = static_cast<unsigned char>(text[2 * i]);
    const auto low = static_cast<unsigned char>(text[2 * i + 1]);
    alphabets = static_cast<uint8_t>(alphabets & kHex.alphabets[high] & kHex.alphabets[low]);
    out[i] = static_cast<char>(kHex.value[high] << 4 | kHex.value[low]);
  }
  return (alphabets & kUpperHex) != 0 ? kUpperHex : alphabets;
}

void UnpackHex(const char* in, bool upper, char* out) {
  const char* digits = upper ? kUpperDigits : kLowerDigits;
  for (size_t i = 0; i < kHexBytes; ++i) {
    const auto byte = static_cast<unsigned char>(in[i]);
    *out++ = digits[byte >> 4];
    *out++ = digits[byte & 15];
  }
}

char* PackRow(const ListedObject& object, absl::string_view previous_key, int64_t previous_ms, char* out) {
  char hex[kHexBytes];
  uint8_t flags = PackHex(object.etag, hex);
  const absl::string_view etag_rest = flags != 0 ? object.etag.substr(kHexDigits) : object.etag;
  const bool packed = flags != 0;
  if (object.kind == ListedObject::Kind::kSymlink) flags |= kSymlink;
  if (object.archived) flags |= kArchived;
  const size_t shared = SharedBytes(previous_key, object.key);

  *out++ = static_cast<char>(flags);
  out = PutVarint(out, shared);
  out = PutVarint(out, object.key.size() - shared);
  out = PutText(out, object.key.substr(shared));
  if (packed) out = PutText(out, {hex, kHexBytes});
  out = PutVarint(out, etag_rest.size());
  out = PutText(out, etag_rest);
  out = PutVarint(out, object.size);
  return PutVarint(out, ZigZag(object.modified_ms - previous_ms));
}

// Takes rows apart with every access checked.
class Input {
 public:
  explicit Input(absl::string_view bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  bool Byte(uint8_t& value) {
    if (at_ == end_) return false;
    value = static_cast<uint8_t>(*at_++);
    return true;
  }
  bool Varint(uint64_t& value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool Text(uint64_t size, const char*& text) {
    if (size > static_cast<uint64_t>(end_ - at_)) return false;
    text = at_;
    at_ += size;
    return true;
  }
  bool empty() const { return at_ == end_; }

 private:
  const char* at_;
  const char* end_;
};

struct RowParts {
  uint8_t flags;
  uint64_t shared;
  uint64_t suffix_size;
  const char* suffix;
  const char* hex = nullptr;
  uint64_t etag_size;
  const char* etag;
  uint64_t size;
  uint64_t time;

  bool packed() const { return (flags & (kUpperHex | kLowerHex)) != 0; }
  size_t key_bytes() const { return shared + suffix_size; }
  size_t etag_bytes() const { return etag_size + (packed() ? kHexDigits : 0); }
};

bool ReadRow(Input& in, RowParts& row) {
  return in.Byte(row.flags) && in.Varint(row.shared) && in.Varint(row.suffix_size) &&
         in.Text(row.suffix_size, row.suffix) && (!row.packed() || in.Text(kHexBytes, row.hex)) &&
         in.Varint(row.etag_size) && in.Text(row.etag_size, row.etag) && in.Varint(row.size) &&
         in.Varint(row.time);
}

// Writes the texts of a row to `text`, which has room for them, and returns the object that views them.
ListedObject Unpack(const RowParts& row, absl::string_view previous_key, int64_t previous_ms, char* text) {
  ListedObject object;
  std::memcpy(text, previous_key.data(), row.shared);
  std::memcpy(text + row.shared, row.suffix, row.suffix_size);
  object.key = {text, row.key_bytes()};
  char* etag = text + row.key_bytes();
  char* rest = etag;
  if (row.packed()) {
    UnpackHex(row.hex, (row.flags & kUpperHex) != 0, etag);
    rest += kHexDigits;
  }
  std::memcpy(rest, row.etag, row.etag_size);
  object.etag = {etag, row.etag_bytes()};
  object.size = row.size;
  object.modified_ms = previous_ms + UnZigZag(row.time);
  object.kind = (row.flags & kSymlink) != 0 ? ListedObject::Kind::kSymlink : ListedObject::Kind::kNormal;
  object.archived = (row.flags & kArchived) != 0;
  return object;
}

}  // namespace

void PackRows(absl::Span<const ListedObject> objects, std::string& out) {
  size_t bound = 0;
  for (const ListedObject& object : objects)
    bound += object.key.size() + object.etag.size() + kMaxRowOverhead;
  const size_t begin = out.size();
  out.resize(begin + bound);
  char* at = out.data() + begin;
  absl::string_view previous_key;
  int64_t previous_ms = 0;
  for (const ListedObject& object : objects) {
    at = PackRow(object, previous_key, previous_ms, at);
    previous_key = object.key;
    previous_ms = object.modified_ms;
  }
  out.resize(static_cast<size_t>(at - out.data()));
}

char* RowReader::Reserve(size_t bytes) {
  if (bytes > kBlockBytes) return large_.emplace_back(std::make_unique_for_overwrite<char[]>(bytes)).get();
  if (block_ < blocks_.size() && used_ + bytes > kBlockBytes) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) blocks_.push_back(std::make_unique_for_overwrite<char[]>(kBlockBytes));
  char* text = blocks_[block_].get() + used_;
  used_ += bytes;
  return text;
}

absl::Status RowReader::Read(absl::string_view rows, size_t count) {
  objects_.clear();
  large_.clear();
  block_ = 0;
  used_ = 0;
  Input in(rows);
  absl::string_view previous_key;
  int64_t previous_ms = 0;
  for (size_t i = 0; i < count; ++i) {
    RowParts row;
    if (!ReadRow(in, row) || row.shared > previous_key.size())
      return absl::DataLossError("damaged rows of a listing");
    objects_.push_back(Unpack(row, previous_key, previous_ms, Reserve(row.key_bytes() + row.etag_bytes())));
    previous_key = objects_.back().key;
    previous_ms = objects_.back().modified_ms;
  }
  if (!in.empty()) return absl::DataLossError("damaged rows of a listing");
  return absl::OkStatus();
}

}  // namespace bucketvol
