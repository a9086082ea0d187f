#include "test/bucketd/synthetic_commands.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/status_macros.h"
#include "test/bucketd/content.h"
#include "test/bucketd/synthetic_bucket.h"
#include "test/bucketd/units.h"

namespace bucketvol::bucketd {
namespace {

constexpr uint64_t kPiece = 256 * 1024;

absl::Status WriteAll(int out, absl::string_view data) {
  while (!data.empty()) {
    const ssize_t written = write(out, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoToStatus(errno, "cannot write");
    data.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status WriteObject(const SyntheticObject& object, uint64_t offset, uint64_t length, int out) {
  std::string piece(std::min(kPiece, length), '\0');
  for (const uint64_t end = offset + length; offset < end;) {
    piece.resize(std::min(kPiece, end - offset));
    FillContent(object.seed, offset, piece.data(), piece.size());
    RETURN_IF_ERROR(WriteAll(out, piece));
    offset += piece.size();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunExpect(absl::Span<char* const> arguments, int out) {
  if (arguments.size() != 2 && arguments.size() != 4) {
    return absl::InvalidArgumentError("usage: bucketd expect SPEC KEY [OFFSET LENGTH]");
  }
  ASSIGN_OR_RETURN(const SyntheticSpec spec, ParseSyntheticSpec(arguments[0]));
  const absl::string_view key = arguments[1];
  if (!SyntheticBucket(spec).Open(key).ok()) return absl::NotFoundError(absl::StrCat("no such key: ", key));
  const SyntheticObject object = DescribeSynthetic(spec, key);
  if (arguments.size() == 2) return WriteObject(object, 0, object.size, out);
  ASSIGN_OR_RETURN(const uint64_t offset, ParseSize(arguments[2]));
  ASSIGN_OR_RETURN(const uint64_t length, ParseSize(arguments[3]));
  if (offset > object.size || length > object.size - offset) {
    return absl::OutOfRangeError(absl::StrCat("the object has only bytes: ", object.size));
  }
  return WriteObject(object, offset, length, out);
}

absl::Status RunKeys(absl::Span<char* const> arguments, int out) {
  if (arguments.empty() || arguments.size() > 3)
    return absl::InvalidArgumentError("usage: bucketd keys SPEC [START [N]]");
  ASSIGN_OR_RETURN(const SyntheticSpec spec, ParseSyntheticSpec(arguments[0]));
  uint64_t start = 0;
  uint64_t count = spec.keys;
  if (arguments.size() > 1) {
    ASSIGN_OR_RETURN(start, ParseCount(arguments[1]));
  }
  if (arguments.size() > 2) {
    ASSIGN_OR_RETURN(count, ParseCount(arguments[2]));
  }
  const KeyFormula formula(spec);
  start = std::min(start, spec.keys);
  const uint64_t end = start + std::min(count, spec.keys - start);
  std::string lines;
  for (; start < end; ++start) {
    char key[KeyFormula::kMaxKeyBytes];
    lines.append(key, formula.Write(start, key));
    lines += '\n';
    if (lines.size() < kPiece) continue;
    RETURN_IF_ERROR(WriteAll(out, lines));
    lines.clear();
  }
  return WriteAll(out, lines);
}

}  // namespace bucketvol::bucketd
