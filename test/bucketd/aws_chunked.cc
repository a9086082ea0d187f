#include "test/bucketd/aws_chunked.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

constexpr size_t kMaxLine = 8192;
constexpr absl::string_view kTrailerSignature = "x-amz-trailer-signature";

}  // namespace

void AwsChunkedDecoder::Consume(absl::string_view input, absl::FunctionRef<void(absl::string_view)> sink) {
  while (state_ == State::kMore && !input.empty()) {
    if (part_ != Part::kData) {
      input.remove_prefix(ConsumeLine(input));
      continue;
    }
    const absl::string_view data = input.substr(0, std::min<uint64_t>(left_, input.size()));
    if (chunk_digest_.has_value()) chunk_digest_->Update(data);
    sink(data);
    input.remove_prefix(data.size());
    left_ -= data.size();
    if (left_ == 0) part_ = Part::kDataEnd;
  }
}

size_t AwsChunkedDecoder::ConsumeLine(absl::string_view input) {
  const size_t newline = input.find('\n');
  absl::StrAppend(&line_, input.substr(0, newline));
  if (line_.size() > kMaxLine) state_ = State::kBroken;
  if (newline == absl::string_view::npos) return input.size();
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  const std::string line = std::move(line_);
  line_.clear();
  OnLine(line);
  return newline + 1;
}

void AwsChunkedDecoder::OnLine(absl::string_view line) {
  switch (part_) {
    case Part::kSize:
      return OnSize(line);
    case Part::kDataEnd:
      if (!line.empty()) state_ = State::kBroken;
      CheckChunk();
      part_ = Part::kSize;
      return;
    case Part::kTrailer:
      return OnTrailer(line);
    case Part::kData:
      return;
  }
}

void AwsChunkedDecoder::OnSize(absl::string_view line) {
  const absl::string_view digits = line.substr(0, line.find(';'));
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), left_, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    state_ = State::kBroken;
    return;
  }
  const size_t signature = line.find("chunk-signature=");
  chunk_signature_ = signature == absl::string_view::npos ? "" : std::string(line.substr(signature + 16));
  if (signer_.has_value()) chunk_digest_.emplace(DigestKind::kSha256);
  last_ = left_ == 0;
  part_ = last_ ? Part::kTrailer : Part::kData;
  if (last_) CheckChunk();
}

void AwsChunkedDecoder::CheckChunk() {
  if (!signer_.has_value() || state_ != State::kMore) return;
  const std::string text = absl::StrCat(
      "AWS4-HMAC-SHA256-PAYLOAD\n", signer_->time, "\n", signer_->scope.ToString(), "\n", signer_->signature,
      "\n", HexLower(DigestOf(DigestKind::kSha256, "")), "\n", HexLower(chunk_digest_->Finish()));
  chunk_digest_.reset();
  signer_->signature = V4Signature(signer_->key, text);
  if (!EqualSecrets(signer_->signature, chunk_signature_)) state_ = State::kBadSignature;
}

void AwsChunkedDecoder::OnTrailer(absl::string_view line) {
  if (line.empty()) {
    state_ = State::kDone;
    return;
  }
  const size_t colon = line.find(':');
  if (colon == absl::string_view::npos) {
    state_ = State::kBroken;
    return;
  }
  std::string name = absl::AsciiStrToLower(line.substr(0, colon));
  const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
  if (name == kTrailerSignature) return CheckTrailer(value);
  absl::StrAppend(&trailer_text_, name, ":", value, "\n");
  trailers_.emplace_back(std::move(name), std::string(value));
}

void AwsChunkedDecoder::CheckTrailer(absl::string_view signature) {
  if (!signer_.has_value()) return;
  const std::string text =
      absl::StrCat("AWS4-HMAC-SHA256-TRAILER\n", signer_->time, "\n", signer_->scope.ToString(), "\n",
                   signer_->signature, "\n", HexLower(DigestOf(DigestKind::kSha256, trailer_text_)));
  if (!EqualSecrets(V4Signature(signer_->key, text), signature)) state_ = State::kBadSignature;
}

}  // namespace bucketvol::bucketd
