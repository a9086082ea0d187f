#include "test/bucketd/upload_store.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "test/bucketd/content.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

std::string IdOf(uint64_t number) {
  char buffer[32];
  char* out = WriteHex64(number, buffer, /*upper=*/true);
  WriteHex64(MixBits(number), out, /*upper=*/true);
  return std::string(buffer, 32);
}

bool Matches(const Upload& upload, absl::string_view bucket, absl::string_view key) {
  return upload.bucket == bucket && upload.key == key;
}

}  // namespace

std::string UploadStore::Begin(Upload upload) {
  absl::MutexLock lock(&mu_);
  std::string id = IdOf(++last_id_);
  uploads_.emplace(id, std::move(upload));
  return id;
}

Outcome<Upload> UploadStore::Find(absl::string_view bucket, absl::string_view key, absl::string_view id) {
  absl::MutexLock lock(&mu_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end() || !Matches(found->second, bucket, key)) return ErrorKind::kNoSuchUpload;
  return found->second;
}

Outcome<Nothing> UploadStore::AddPart(absl::string_view bucket, absl::string_view key, absl::string_view id,
                                      int number, UploadPart part) {
  absl::MutexLock lock(&mu_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end() || !Matches(found->second, bucket, key)) return ErrorKind::kNoSuchUpload;
  found->second.parts[number] = std::move(part);
  return Nothing{};
}

Outcome<Upload> UploadStore::Take(absl::string_view bucket, absl::string_view key, absl::string_view id) {
  absl::MutexLock lock(&mu_);
  const auto found = uploads_.find(id);
  if (found == uploads_.end() || !Matches(found->second, bucket, key)) return ErrorKind::kNoSuchUpload;
  Upload upload = std::move(found->second);
  uploads_.erase(found);
  return upload;
}

void UploadStore::PutBack(absl::string_view id, Upload upload) {
  absl::MutexLock lock(&mu_);
  uploads_.emplace(std::string(id), std::move(upload));
}

std::vector<std::pair<std::string, Upload>> UploadStore::List(absl::string_view bucket) {
  std::vector<std::pair<std::string, Upload>> list;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, upload] : uploads_) {
      if (upload.bucket == bucket) list.emplace_back(id, upload);
    }
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.key, a.first) < std::tie(b.second.key, b.first);
  });
  return list;
}

}  // namespace bucketvol::bucketd
