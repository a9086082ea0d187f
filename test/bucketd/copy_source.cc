#include "test/bucketd/copy_source.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "test/bucketd/conditions.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

constexpr uint64_t kPiece = 256 * 1024;

bool SplitSource(absl::string_view header, CopySource& source) {
  absl::ConsumePrefix(&header, "/");
  header = header.substr(0, header.find('?'));
  const std::string decoded = PercentDecode(header);
  const size_t slash = decoded.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == decoded.size()) return false;
  source.bucket = decoded.substr(0, slash);
  source.key = decoded.substr(slash + 1);
  return true;
}

// What a failed condition is, or nothing.
std::optional<ErrorKind> CheckConditions(const ApiRequest& request, const ObjectMeta& meta) {
  const absl::string_view match = request.ServiceHeader("copy-source-if-match");
  const absl::string_view none_match = request.ServiceHeader("copy-source-if-none-match");
  int64_t when = 0;
  if (!match.empty() && !EtagListContains(match, meta.etag)) return ErrorKind::kPreconditionFailed;
  if (!none_match.empty() && EtagListContains(none_match, meta.etag)) return ErrorKind::kCopySourceUnchanged;
  if (ParseHttpTime(request.ServiceHeader("copy-source-if-unmodified-since"), when) && meta.modified > when) {
    return ErrorKind::kPreconditionFailed;
  }
  const bool asks = ParseHttpTime(request.ServiceHeader("copy-source-if-modified-since"), when);
  if (asks && meta.modified <= when) return ErrorKind::kCopySourceUnchanged;
  return std::nullopt;
}

}  // namespace

Outcome<CopySource> OpenCopySource(const Call& call) {
  CopySource source;
  if (!SplitSource(call.request.ServiceHeader("copy-source"), source)) {
    return ServiceError{ErrorKind::kInvalidArgument, "The copy source must name a bucket and a key.", {}};
  }
  const std::shared_ptr<Bucket> bucket = call.buckets.Find(source.bucket);
  if (bucket == nullptr) return ServiceError{ErrorKind::kNoSuchBucket, "", {{"BucketName", source.bucket}}};
  Outcome<OpenObject> object = bucket->Open(source.key);
  if (!object.ok()) return object.error();
  if (object->body == nullptr) return ErrorKind::kInvalidTargetType;
  if (const auto failed = CheckConditions(call.request, object->meta); failed.has_value()) return *failed;
  source.object = *std::move(object);
  return source;
}

Outcome<StagedFile> CopyBytes(WritableBucket& target, BodySource& source, uint64_t offset, uint64_t size) {
  absl::StatusOr<StagedFile> file = target.Stage();
  if (!file.ok()) return ServiceError{ErrorKind::kInternal, std::string(file.status().message()), {}};
  std::string piece;
  for (const uint64_t end = offset + size; offset < end; offset += piece.size()) {
    piece.resize(std::min(kPiece, end - offset));
    if (!source.Read(offset, piece.data(), piece.size())) return ErrorKind::kInternal;
    if (const absl::Status status = file->Append(piece); !status.ok()) {
      return ServiceError{ErrorKind::kInternal, std::string(status.message()), {}};
    }
  }
  return *std::move(file);
}

}  // namespace bucketvol::bucketd
