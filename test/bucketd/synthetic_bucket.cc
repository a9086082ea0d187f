#include "test/bucketd/synthetic_bucket.h"

#include "mounter/base/crc.h"
#include "test/bucketd/content.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

constexpr int64_t kFirstModified = 1'704'067'200;  // 2024-01-01T00:00:00Z
constexpr uint64_t kModifiedSpan = 366 * 86'400;

class SyntheticBody final : public BodySource {
 public:
  explicit SyntheticBody(uint64_t seed) : seed_(seed) {}
  bool Read(uint64_t offset, char* out, size_t size) override {
    FillContent(seed_, offset, out, size);
    return true;
  }

 private:
  const uint64_t seed_;
};

uint64_t WholeCrc(const SyntheticObject& object) {
  constexpr uint64_t kPiece = 64 * 1024;
  char buffer[kPiece];
  uint64_t crc = 0;
  for (uint64_t offset = 0; offset < object.size; offset += kPiece) {
    const size_t size = std::min(kPiece, object.size - offset);
    FillContent(object.seed, offset, buffer, size);
    crc = Crc64(crc, absl::string_view(buffer, size));
  }
  return crc;
}

}  // namespace

SyntheticObject DescribeSynthetic(const SyntheticSpec& spec, absl::string_view key) {
  SyntheticObject object;
  object.seed = ObjectSeed(spec.seed, key);
  object.size = spec.min_size;
  if (spec.max_size > spec.min_size) {
    object.size += MixBits(object.seed + 1) % (spec.max_size - spec.min_size + 1);
  }
  object.modified = kFirstModified + static_cast<int64_t>(MixBits(object.seed + 2) % kModifiedSpan);
  WriteHex64(MixBits(object.seed + 3), object.etag, /*upper=*/false);
  WriteHex64(MixBits(object.seed + 4), object.etag + 16, /*upper=*/false);
  return object;
}

int64_t SyntheticBucket::created() const { return kFirstModified; }

void SyntheticBucket::Scan(absl::string_view from, Bound bound, EntryVisitor& visitor) {
  uint64_t index = bound == Bound::kAt ? formula_.FirstAtOrAfter(from) : formula_.FirstAfter(from);
  char key[KeyFormula::kMaxKeyBytes];
  ListEntry entry;
  while (index < formula_.size()) {
    entry.key = absl::string_view(key, formula_.Write(index, key));
    const SyntheticObject object = DescribeSynthetic(spec_, entry.key);
    entry.size = object.size;
    entry.modified = object.modified;
    entry.etag = absl::string_view(object.etag, sizeof(object.etag));
    switch (visitor.Visit(entry)) {
      case EntryVisitor::Step::kNext:
        ++index;
        break;
      case EntryVisitor::Step::kSkipPrefix: {
        const std::optional<std::string> end = PrefixEnd(visitor.skip_prefix());
        index = end.has_value() ? formula_.FirstAtOrAfter(*end) : formula_.size();
        break;
      }
      case EntryVisitor::Step::kStop:
        return;
    }
  }
}

Outcome<OpenObject> SyntheticBucket::Open(absl::string_view key) {
  const uint64_t index = formula_.FirstAtOrAfter(key);
  char found[KeyFormula::kMaxKeyBytes];
  if (index == formula_.size() || absl::string_view(found, formula_.Write(index, found)) != key) {
    return ErrorKind::kNoSuchKey;
  }
  const SyntheticObject object = DescribeSynthetic(spec_, key);
  OpenObject open;
  open.meta.size = object.size;
  open.meta.modified = object.modified;
  open.meta.etag = std::string(object.etag, sizeof(object.etag));
  open.meta.headers = {{"content-type", "image/jpeg"}};
  if (spec_.crc) open.meta.crc64 = WholeCrc(object);
  open.body = std::make_unique<SyntheticBody>(object.seed);
  return open;
}

}  // namespace bucketvol::bucketd
