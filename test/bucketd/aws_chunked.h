#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "test/bucketd/digest.h"
#include "test/bucketd/signature.h"

namespace bucketvol::bucketd {

/// What the signatures of chunks are made with: those of the request's head.
struct ChunkSigner {
  std::string key;  // Raw, of SigningKey.
  std::string time;
  Scope scope;
  std::string signature;  // Of the piece before: at first, of the head.
};

/// Decodes a body with `Content-Encoding: aws-chunked` (AWS, "Signature Calculations for the Authorization
/// Header: Transferring Payload in Multiple Chunks"): chunks `SIZE[;chunk-signature=HEX]\r\n DATA \r\n`, a
/// chunk of size 0, then trailers `name:value\r\n` and an empty line. Not thread-safe.
class AwsChunkedDecoder {
 public:
  enum class State { kMore, kDone, kBroken, kBadSignature };

  /// With a signer, each chunk (and the trailer, when there is one) must be signed.
  explicit AwsChunkedDecoder(std::optional<ChunkSigner> signer) : signer_(std::move(signer)) {}

  void Consume(absl::string_view input, absl::FunctionRef<void(absl::string_view)> sink);
  /// kDone once the body has ended properly.
  State state() const { return state_; }
  /// Names in lower case, trimmed values.
  const std::vector<std::pair<std::string, std::string>>& trailers() const { return trailers_; }

 private:
  enum class Part { kSize, kData, kDataEnd, kTrailer };
  size_t ConsumeLine(absl::string_view input);
  void OnLine(absl::string_view line);
  void OnSize(absl::string_view line);
  void OnTrailer(absl::string_view line);
  void CheckChunk();
  void CheckTrailer(absl::string_view signature);

  std::optional<ChunkSigner> signer_;
  State state_ = State::kMore;
  Part part_ = Part::kSize;
  uint64_t left_ = 0;
  bool last_ = false;
  std::string line_;
  std::string chunk_signature_;
  std::string trailer_text_;  // As it is signed.
  std::optional<Digest> chunk_digest_;
  std::vector<std::pair<std::string, std::string>> trailers_;
};

}  // namespace bucketvol::bucketd
