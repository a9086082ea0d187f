#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace bucketvol::bucketd {

/// Takes the body of a request out of its HTTP framing: Content-Length or chunked (RFC 9112 §7.1; trailers
/// are dropped).
class BodyFraming {
 public:
  enum class State { kMore, kDone, kBroken };

  BodyFraming() = default;  // No body.
  static BodyFraming Sized(uint64_t bytes);
  static BodyFraming Chunked();

  State state() const { return state_; }
  /// Eats bytes of `input`, hands the body's part of them to `sink`, and returns how many it ate. Eats
  /// nothing beyond the end of the body.
  size_t Consume(absl::string_view input, absl::FunctionRef<void(absl::string_view)> sink);

 private:
  enum class Part { kSize, kData, kDataEnd, kTrailer };
  size_t ConsumeLine(absl::string_view input);
  void OnSizeLine();
  void OnLine();

  State state_ = State::kDone;
  bool chunked_ = false;
  Part part_ = Part::kData;
  uint64_t left_ = 0;   // Bytes of the body, or of the chunk.
  char line_[64] = {};  // The line that is being read; longer ones are cut, a size line must fit.
  size_t line_size_ = 0;
};

}  // namespace bucketvol::bucketd
