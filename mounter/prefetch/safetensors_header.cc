#include "mounter/prefetch/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "mounter/base/coding.h"
#include "mounter/prefetch/boundaries.h"

namespace bucketvol {

namespace {

constexpr uint64_t kLengthBytes = 8;

// Collects the offsets of {"name": {"data_offsets": [begin, end], …}, …} as the parser goes; keeps nothing
// else. Returning false ends the parse.
class OffsetCollector : public nlohmann::json_sax<nlohmann::json> {
 public:
  const std::vector<uint64_t>& offsets() const { return offsets_; }

  bool number_unsigned(number_unsigned_t value) override {
    if (in_offsets_) offsets_.push_back(value);
    return true;
  }
  bool key(string_t& name) override {
    offsets_next_ = depth_ == 2 && name == "data_offsets";
    return true;
  }
  bool start_object(std::size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool start_array(std::size_t) override {
    in_offsets_ = offsets_next_;
    return Enter();
  }
  bool end_array() override {
    in_offsets_ = false;
    return Leave();
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return !in_offsets_; }
  bool number_float(number_float_t, const string_t&) override { return !in_offsets_; }
  bool string(string_t&) override { return !in_offsets_; }
  bool binary(binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  // A header is three levels deep.
  static constexpr int kMostDepth = 8;

  bool Enter() {
    offsets_next_ = false;
    return ++depth_ <= kMostDepth;
  }
  bool Leave() {
    --depth_;
    return true;
  }

  std::vector<uint64_t> offsets_;
  int depth_ = 0;
  bool offsets_next_ = false;
  bool in_offsets_ = false;
};

}  // namespace

std::optional<ByteRange> SafetensorsHeader::Range(absl::string_view first_bytes, uint64_t object_size) {
  if (first_bytes.size() < kLengthBytes) return std::nullopt;
  const auto length = LoadLittle<uint64_t>(first_bytes.data());
  if (length < 2 || length > kMaxHeaderBytes || length + kLengthBytes > object_size) return std::nullopt;
  return ByteRange{0, kLengthBytes + length};
}

std::optional<std::vector<uint64_t>> SafetensorsHeader::Boundaries(absl::string_view header,
                                                                   uint64_t object_size) {
  const std::optional<ByteRange> range = Range(header, object_size);
  if (!range || header.size() < range->end) return std::nullopt;
  const absl::string_view json = header.substr(kLengthBytes, range->end - kLengthBytes);
  OffsetCollector collector;
  if (json.front() != '{' || !nlohmann::json::sax_parse(json.begin(), json.end(), &collector))
    return std::nullopt;
  std::vector<uint64_t> offsets = collector.offsets();
  for (uint64_t& offset : offsets) {
    if (offset > object_size - range->end) return std::nullopt;
    offset += range->end;
  }
  if (offsets.empty()) return std::nullopt;
  return JoinSmallParts(std::move(offsets));
}

}  // namespace bucketvol
