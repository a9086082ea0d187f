#include <optional>
#include <utility>

#include "mounter/base/coding.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/erofs_format.h"
#include "mounter/index/index_file.h"
#include "mounter/index/sealed_file.h"

// The manifest's bytes; FORMAT.md describes them. Writer and reader walk the same list of fields.
namespace bucketvol {
namespace {

constexpr SealedFormat kFormat = {"index manifest", "BVINDEX\n", kIndexVersion};
constexpr size_t kBuildIdBytes = 16;
constexpr int64_t kBillion = 1'000'000'000;

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void Field(const uint64_t& value) { AppendVarint(out_, value); }
  void Field(const uint32_t& value) { AppendVarint(out_, value); }
  void Field(const bool& value) { AppendVarint(out_, value ? 1 : 0); }
  void Field(const std::string& value) {
    AppendVarint(out_, value.size());
    out_.append(value);
  }
  void Field(const absl::Duration& value) {
    const absl::Duration whole = absl::Floor(value, absl::Seconds(1));
    AppendVarint(out_, static_cast<uint64_t>(absl::ToInt64Seconds(whole)));
    AppendVarint(out_, static_cast<uint64_t>(absl::ToInt64Nanoseconds(value - whole)));
  }
  template <typename Element, typename Each>
  void List(const std::vector<Element>& list, size_t /*most*/, Each each) {
    AppendVarint(out_, list.size());
    for (const Element& element : list) each(element);
  }

 private:
  std::string& out_;
};

class Reader {
 public:
  explicit Reader(absl::string_view in) : in_(in) {}

  void Field(uint64_t& value) { value = Number(UINT64_MAX); }
  void Field(uint32_t& value) { value = static_cast<uint32_t>(Number(UINT32_MAX)); }
  void Field(bool& value) { value = Number(1) != 0; }
  void Field(std::string& value) {
    const uint64_t size = Number(UINT64_MAX);
    ok_ = ok_ && size <= in_.size();
    if (!ok_) return;
    value.assign(in_.data(), size);
    in_.remove_prefix(size);
  }
  void Field(absl::Duration& value) {
    const auto seconds = static_cast<int64_t>(Number(UINT64_MAX));
    value = absl::Seconds(seconds) + absl::Nanoseconds(static_cast<int64_t>(Number(kBillion - 1)));
  }
  template <typename Element, typename Each>
  void List(std::vector<Element>& list, size_t most, Each each) {
    const uint64_t size = Number(most);
    for (uint64_t i = 0; i < size && ok_; ++i) each(list.emplace_back());
  }
  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }

 private:
  // 0, and not ok, unless there is a number of at most `most`.
  uint64_t Number(uint64_t most) {
    const auto value = ok_ ? ConsumeVarint(in_) : std::nullopt;
    ok_ = value && *value <= most;
    return ok_ ? *value : 0;
  }

  absl::string_view in_;
  bool ok_ = true;
};

template <typename Codec, typename Report>
void WalkReport(Codec& codec, Report& report) {
  codec.Field(report.keys);
  codec.Field(report.files);
  codec.Field(report.directories);
  codec.Field(report.marked_directories);
  codec.Field(report.bytes);
  codec.Field(report.archived);
  for (auto& skipped : report.skipped) {
    codec.Field(skipped.count);
    codec.List(skipped.examples, IndexReport::kExamples, [&](auto& key) { codec.Field(key); });
  }
  codec.Field(report.list_requests);
  codec.Field(report.list_streams_peak);
  codec.Field(report.build_time);
  codec.Field(report.table_bytes);
}

template <typename Codec, typename Manifest>
void WalkManifest(Codec& codec, Manifest& manifest) {
  codec.Field(manifest.build_id);
  codec.Field(manifest.source);
  codec.Field(manifest.endpoint);
  codec.Field(manifest.prefix);
  codec.Field(manifest.options);
  codec.Field(manifest.meta_bytes);
  codec.Field(manifest.needs_48bit);
  codec.List(manifest.devices, erofs::kMaxDevices, [&](auto& device) {
    codec.Field(device.first_block);
    codec.Field(device.blocks);
  });
  WalkReport(codec, manifest.report);
}

}  // namespace

std::string EncodeIndexManifest(const IndexManifest& manifest) {
  std::string bytes = SealedHead(kFormat);
  Writer writer(bytes);
  WalkManifest(writer, manifest);
  writer.Field(manifest.report.built_at - absl::UnixEpoch());
  Seal(bytes);
  return bytes;
}

absl::StatusOr<IndexManifest> DecodeIndexManifest(absl::string_view bytes) {
  RETURN_IF_ERROR(CheckFormat(kFormat, bytes));
  RETURN_IF_ERROR(CheckSeal(kFormat, bytes));
  IndexManifest manifest;
  manifest.version = kIndexVersion;
  Reader reader(bytes.substr(kSealedHeadBytes));
  WalkManifest(reader, manifest);
  absl::Duration built_at;
  reader.Field(built_at);
  if (!reader.ok() || !reader.at_end() || manifest.build_id.size() != kBuildIdBytes)
    return DamagedFile(kFormat, "fields");
  manifest.report.built_at = absl::UnixEpoch() + built_at;
  manifest.report.image_bytes = manifest.meta_bytes;
  return manifest;
}

}  // namespace bucketvol
