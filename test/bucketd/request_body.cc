#include "test/bucketd/request_body.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

constexpr absl::string_view kChecksumPrefix = "x-amz-checksum-";

bool IsSha256(absl::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
}

std::optional<ChunkSigner> SignerOf(absl::string_view payload, const Authentication* authentication) {
  if (authentication == nullptr || !absl::StartsWith(payload, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"))
    return std::nullopt;
  return ChunkSigner{authentication->signing_key, authentication->time, authentication->scope,
                     authentication->signature};
}

}  // namespace

void RequestBody::Start(const ApiRequest& request, const Authentication* authentication,
                        std::optional<StagedFile> file) {
  if (file.has_value()) file_.emplace(*std::move(file));
  const absl::string_view payload = request.ServiceHeader("content-sha256");
  if (absl::StartsWith(payload, "STREAMING-")) chunked_.emplace(SignerOf(payload, authentication));
  if (IsSha256(payload) && authentication != nullptr) {
    declared_sha256_ = absl::AsciiStrToLower(payload);
    sha256_.emplace(DigestKind::kSha256);
  }
  if (request.dialect == Dialect::kOss) return;
  for (const HttpHeader& header : request.http->headers) StartChecksum(absl::AsciiStrToLower(header.name));
  StartChecksum(absl::AsciiStrToLower(request.http->Get("x-amz-trailer")));
}

void RequestBody::StartChecksum(absl::string_view header_name) {
  if (!absl::ConsumePrefix(&header_name, kChecksumPrefix)) return;
  std::unique_ptr<Checksum> checksum = Checksum::Make(header_name);
  if (checksum != nullptr) checksums_.emplace_back(std::string(header_name), std::move(checksum));
}

void RequestBody::Append(absl::string_view data) {
  if (!chunked_.has_value()) return AppendDecoded(data);
  chunked_->Consume(data, [this](absl::string_view piece) { AppendDecoded(piece); });
}

void RequestBody::AppendDecoded(absl::string_view data) {
  size_ += data.size();
  if (sha256_.has_value()) sha256_->Update(data);
  for (auto& [name, checksum] : checksums_) checksum->Update(data);
  if (!file_.has_value()) {
    text_.append(data.data(), std::min(data.size(), kMaxText - text_.size()));
  } else if (write_status_.ok()) {
    write_status_ = file_->Append(data);
  }
}

Outcome<Nothing> RequestBody::Finish(const ApiRequest& request) {
  if (auto error = CheckFraming(request); error.has_value()) return *error;
  if (!write_status_.ok())
    return ServiceError{ErrorKind::kInternal, std::string(write_status_.message()), {}};
  if (sha256_.has_value() && HexLower(sha256_->Finish()) != declared_sha256_)
    return ErrorKind::kContentHashMismatch;
  if (auto error = CheckMd5(request); error.has_value()) return *error;
  if (auto error = CheckChecksums(request); error.has_value()) return *error;
  return Nothing{};
}

std::optional<ServiceError> RequestBody::CheckFraming(const ApiRequest& request) const {
  if (!file_.has_value() && size_ > kMaxText)
    return ServiceError{ErrorKind::kInvalidRequest, "The body is too large.", {}};
  if (!chunked_.has_value()) return std::nullopt;
  uint64_t declared = 0;
  if (!absl::SimpleAtoi(request.http->Get("x-amz-decoded-content-length"), &declared)) {
    return ServiceError{ErrorKind::kMissingContentLength, "", {}};
  }
  if (chunked_->state() == AwsChunkedDecoder::State::kBadSignature) {
    return ServiceError{ErrorKind::kSignatureMismatch, "The signature of a chunk does not match.", {}};
  }
  if (chunked_->state() != AwsChunkedDecoder::State::kDone)
    return ServiceError{ErrorKind::kIncompleteBody, "", {}};
  if (declared != size_) return ServiceError{ErrorKind::kIncompleteBody, "", {}};
  return std::nullopt;
}

std::optional<ServiceError> RequestBody::CheckMd5(const ApiRequest& request) {
  const std::optional<absl::string_view> header = request.http->Find("content-md5");
  if (!header.has_value() && !file_.has_value()) return std::nullopt;
  md5_ = file_.has_value() ? file_->FinishMd5() : DigestOf(DigestKind::kMd5, text_);
  if (!header.has_value()) return std::nullopt;
  std::string declared;
  if (!absl::Base64Unescape(*header, &declared) || declared.size() != 16)
    return ServiceError{ErrorKind::kInvalidDigest, "", {}};
  if (declared != md5_) return ServiceError{ErrorKind::kBadDigest, "", {}};
  return std::nullopt;
}

std::optional<ServiceError> RequestBody::CheckChecksums(const ApiRequest& request) {
  for (auto& [name, checksum] : checksums_) {
    const std::string header = absl::StrCat(kChecksumPrefix, name);
    std::string declared(request.http->Get(header));
    if (chunked_.has_value()) {
      for (const auto& [trailer, value] : chunked_->trailers()) {
        if (trailer == header) declared = value;
      }
    }
    std::string computed = checksum->Finish();
    std::string bytes;
    if (!absl::Base64Unescape(declared, &bytes) || declared.size() != computed.size()) {
      return ServiceError{
          ErrorKind::kInvalidRequest, absl::StrCat("Value for ", header, " header is invalid."), {}};
    }
    if (declared != computed) {
      return ServiceError{
          ErrorKind::kBadDigest, absl::StrCat("The ", name, " you specified did not match."), {}};
    }
    checksum_headers_.emplace_back(absl::StrCat("checksum-", name), std::move(computed));
  }
  return std::nullopt;
}

}  // namespace bucketvol::bucketd
