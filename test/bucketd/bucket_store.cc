#include "test/bucketd/bucket_store.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "test/bucketd/synthetic_bucket.h"

namespace bucketvol::bucketd {

bool IsBucketName(absl::string_view name) {
  if (name.size() < 3 || name.size() > 63 || !absl::ascii_isalnum(name.front()) || !absl::ascii_isalnum(name.back())) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-' || c == '.';
  });
}

absl::Status BucketStore::AddSynthetic(const SyntheticSpec& spec) {
  absl::MutexLock lock(&mu_);
  const bool added = buckets_.emplace(spec.name, std::make_shared<SyntheticBucket>(spec)).second;
  if (added) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrCat("two buckets of one name: ", spec.name));
}

std::shared_ptr<Bucket> BucketStore::Find(absl::string_view name) {
  absl::MutexLock lock(&mu_);
  const auto found = buckets_.find(name);
  return found == buckets_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Bucket>> BucketStore::All() {
  absl::MutexLock lock(&mu_);
  std::vector<std::shared_ptr<Bucket>> all;
  for (const auto& [name, bucket] : buckets_) all.push_back(bucket);
  return all;
}

}  // namespace bucketvol::bucketd
namespace bucketvol::bucketd { absl::Status BucketStore::OpenRoot(const std::string&) { return absl::UnimplementedError("--root is not served yet"); } }
