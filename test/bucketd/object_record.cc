#include "test/bucketd/object_record.h"

#include "mounter/base/coding.h"

namespace bucketvol::bucketd {
namespace {

void AppendString(std::string& out, absl::string_view text) {
  AppendVarint(out, text.size());
  out.append(text.data(), text.size());
}

// Takes values off the front; remembers once something was missing.
class Reader {
 public:
  explicit Reader(absl::string_view bytes) : rest_(bytes) {}

  uint64_t Number() {
    const std::optional<uint64_t> value = ok_ ? ConsumeVarint(rest_) : std::nullopt;
    ok_ = value.has_value();
    return value.value_or(0);
  }
  std::string String() {
    const uint64_t size = Number();
    ok_ = ok_ && size <= rest_.size();
    if (!ok_) return "";
    std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

 private:
  absl::string_view rest_;
  bool ok_ = true;
};

ObjectRecord ReadObject(Reader& in) {
  ObjectRecord record;
  record.meta.size = in.Number();
  record.mtime_ns = static_cast<int64_t>(in.Number());
  record.meta.modified = record.mtime_ns / 1'000'000'000;
  record.meta.type = static_cast<ObjectType>(in.Number() & 3);
  const bool has_crc = in.Number() != 0;
  const uint64_t crc = in.Number();
  if (has_crc) record.meta.crc64 = crc;
  record.meta.etag = in.String();
  record.meta.storage_class = in.String();
  record.meta.symlink_target = in.String();
  record.aside = in.String();
  for (uint64_t left = in.Number(); left > 0 && in.ok(); --left) {
    std::string name = in.String();
    record.meta.headers.emplace_back(std::move(name), in.String());
  }
  return record;
}

}  // namespace

std::string EncodeRecord(absl::string_view key, const ObjectRecord* record) {
  std::string out;
  AppendString(out, key);
  AppendVarint(out, record == nullptr ? 0 : 1);
  if (record == nullptr) return out;
  const ObjectMeta& meta = record->meta;
  AppendVarint(out, meta.size);
  AppendVarint(out, static_cast<uint64_t>(record->mtime_ns));
  AppendVarint(out, static_cast<uint64_t>(meta.type));
  AppendVarint(out, meta.crc64.has_value() ? 1 : 0);
  AppendVarint(out, meta.crc64.value_or(0));
  for (const std::string* text : {&meta.etag, &meta.storage_class, &meta.symlink_target, &record->aside}) {
    AppendString(out, *text);
  }
  AppendVarint(out, meta.headers.size());
  for (const auto& [name, value] : meta.headers) {
    AppendString(out, name);
    AppendString(out, value);
  }
  return out;
}

std::optional<DecodedRecord> DecodeRecord(absl::string_view bytes) {
  Reader in(bytes);
  DecodedRecord decoded;
  decoded.key = in.String();
  if (in.Number() != 0) decoded.record = ReadObject(in);
  if (!in.at_end()) return std::nullopt;
  return decoded;
}

}  // namespace bucketvol::bucketd
