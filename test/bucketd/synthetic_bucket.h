#pragma once

#include <string>

#include "test/bucketd/bucket.h"
#include "test/bucketd/key_formula.h"
#include "test/bucketd/synthetic_spec.h"

namespace bucketvol::bucketd {

/// What a synthetic bucket says of an object: all of it follows from the key.
struct SyntheticObject {
  uint64_t seed;  // For FillContent.
  uint64_t size;
  int64_t modified;
  char etag[32];  // Looks like an MD5 in lower-case hex; it is none.
};
SyntheticObject DescribeSynthetic(const SyntheticSpec& spec, absl::string_view key);

/// A read-only bucket that exists only as a formula. Any point of it is reached at once.
class SyntheticBucket final : public Bucket {
 public:
  explicit SyntheticBucket(const SyntheticSpec& spec) : Bucket(spec.name), spec_(spec), formula_(spec) {}

  int64_t created() const override;
  void Scan(absl::string_view from, Bound bound, EntryVisitor& visitor) override;
  Outcome<OpenObject> Open(absl::string_view key) override;

 private:
  const SyntheticSpec spec_;
  const KeyFormula formula_;
};

}  // namespace bucketvol::bucketd
