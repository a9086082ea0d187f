#include "mounter/index/listing_hints.h"

#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/common_prefix.h"
#include "mounter/index/sealed_file.h"
#include "mounter/index/staged_file.h"

namespace bucketvol {
namespace {

constexpr SealedFormat kFormat = {"listing hints", "BVHINTS\n", 1};
constexpr size_t kMostFileBytes = 4 << 20;

void AppendString(std::string& out, absl::string_view text) {
  AppendVarint(out, text.size());
  out.append(text.data(), text.size());
}

bool TakeNumber(absl::string_view& in, uint64_t most, uint64_t& out) {
  const auto value = ConsumeVarint(in);
  if (!value || *value > most) return false;
  out = *value;
  return true;
}

bool TakeString(absl::string_view& in, std::string& out) {
  uint64_t size = 0;
  if (!TakeNumber(in, UINT64_MAX, size) || size > in.size()) return false;
  out.append(in.data(), size);
  in.remove_prefix(size);
  return true;
}

bool TakePoints(absl::string_view& in, std::vector<std::string>& points) {
  uint64_t count = 0;
  if (!TakeNumber(in, kMostHints, count)) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const std::string before = points.empty() ? "" : points.back();
    uint64_t shared = 0;
    if (!TakeNumber(in, before.size(), shared)) return false;
    points.push_back(before.substr(0, shared));
    if (!TakeString(in, points.back()) || points.back() <= before) return false;
  }
  return true;
}

bool TakeAll(absl::string_view in, ListingHints& hints) {
  uint64_t streams = 0;
  const bool whole = TakeString(in, hints.source) && TakeString(in, hints.endpoint) &&
                     TakeString(in, hints.prefix) && TakeNumber(in, UINT64_MAX, hints.keys_apart) &&
                     TakeNumber(in, UINT32_MAX, streams) && TakePoints(in, hints.points) && in.empty();
  hints.streams = static_cast<uint32_t>(streams);
  return whole;
}

}  // namespace

std::string EncodeListingHints(const ListingHints& hints) {
  std::string bytes = SealedHead(kFormat);
  AppendString(bytes, hints.source);
  AppendString(bytes, hints.endpoint);
  AppendString(bytes, hints.prefix);
  AppendVarint(bytes, hints.keys_apart);
  AppendVarint(bytes, hints.streams);
  AppendVarint(bytes, hints.points.size());
  absl::string_view before;
  for (const std::string& point : hints.points) {
    const size_t shared = CommonPrefix(before, point);
    AppendVarint(bytes, shared);
    AppendString(bytes, absl::string_view(point).substr(shared));
    before = point;
  }
  Seal(bytes);
  return bytes;
}

absl::StatusOr<ListingHints> DecodeListingHints(absl::string_view bytes) {
  RETURN_IF_ERROR(CheckFormat(kFormat, bytes));
  RETURN_IF_ERROR(CheckSeal(kFormat, bytes));
  ListingHints hints;
  if (!TakeAll(bytes.substr(kSealedHeadBytes), hints)) return DamagedFile(kFormat, "fields");
  return hints;
}

ListingHints ReadListingHints(const std::string& directory, absl::string_view source,
                              absl::string_view endpoint, absl::string_view prefix) {
  const auto bytes = ReadWholeFile(absl::StrCat(directory, "/", kHintsName), kMostFileBytes);
  if (!bytes.ok()) return {};
  auto hints = DecodeListingHints(*bytes);
  const bool fit =
      hints.ok() && hints->source == source && hints->endpoint == endpoint && hints->prefix == prefix;
  return fit ? *std::move(hints) : ListingHints();
}

absl::Status WriteListingHints(const std::string& directory, const ListingHints& hints) {
  ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(directory, kHintsName));
  RETURN_IF_ERROR(file.WriteAt(EncodeListingHints(hints), 0));
  return PublishFiles(directory, {&file});
}

}  // namespace bucketvol
