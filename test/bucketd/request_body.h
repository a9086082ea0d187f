#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "test/bucketd/api_request.h"
#include "test/bucketd/authenticate.h"
#include "test/bucketd/aws_chunked.h"
#include "test/bucketd/checksum.h"
#include "test/bucketd/digest.h"
#include "test/bucketd/service_error.h"
#include "test/bucketd/staged_file.h"

namespace bucketvol::bucketd {

/// The body of one request: taken out of aws-chunked, kept in memory or in a staged file, and compared with
/// everything that the headers promise of it: SHA-256, Content-MD5, decoded length, S3 checksums. Not
/// thread-safe.
class RequestBody {
 public:
  /// A body in memory is refused above this.
  static constexpr size_t kMaxText = 4 << 20;

  /// Says what to expect. `authentication` is null where signatures are not verified. `file`: where the bytes
  /// go; none: memory.
  void Start(const ApiRequest& request, const Authentication* authentication, std::optional<StagedFile> file);
  void Append(absl::string_view data);
  /// Compares. Call once, at the end of the body.
  Outcome<Nothing> Finish(const ApiRequest& request);

  const std::string& text() const { return text_; }
  /// The staged file, after Start with one.
  StagedFile& file() { return *file_; }
  /// Raw.
  const std::string& md5() const { return md5_; }
  /// `checksum-NAME` and value of every S3 checksum that came with the body and held.
  const std::vector<std::pair<std::string, std::string>>& checksums() const { return checksum_headers_; }

 private:
  void StartChecksum(absl::string_view header_name);
  void AppendDecoded(absl::string_view data);
  std::optional<ServiceError> CheckFraming(const ApiRequest& request) const;
  std::optional<ServiceError> CheckMd5(const ApiRequest& request);
  std::optional<ServiceError> CheckChecksums(const ApiRequest& request);

  std::optional<StagedFile> file_;
  std::string text_;
  uint64_t size_ = 0;
  absl::Status write_status_;
  std::optional<AwsChunkedDecoder> chunked_;
  std::optional<Digest> sha256_;
  std::string declared_sha256_;
  std::string md5_;
  std::vector<std::pair<std::string, std::unique_ptr<Checksum>>> checksums_;  // By name.
  std::vector<std::pair<std::string, std::string>> checksum_headers_;
};

}  // namespace bucketvol::bucketd
