#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mounter/objstore/http_transport.h"

namespace bucketvol {

/// Takes the answers of one HTTP/1.1 connection apart, as their bytes come (RFC 9112 §6 and §7), and hands
/// head and body to a sink. One answer at a time. Not thread-safe.
///
/// Takes single bytes and halves of lines as well as whole answers. Calls neither OnDone nor, after the sink
/// has had enough, anything else.
class HttpAnswerReader {
 public:
  enum class State {
    kGoesOn,    // More is to come.
    kWhole,     // The whole answer was given to the sink.
    kUnwanted,  // The sink does not want the rest.
    kNotHttp,   // What came is no answer of HTTP/1.
    kCutOff,    // The connection ended within the answer.
  };

  /// Prepares for the answer to the next request. `sink` stays alive until the state is another than kGoesOn.
  void Begin(HttpMethod method, HttpResponseSink* sink);
  /// Takes the next bytes.
  State Take(absl::Span<const char> data);
  /// The connection has ended.
  State TakeEnd();

  /// Whether any byte has come since Begin.
  bool begun() const { return begun_; }
  /// Whether the connection can carry another request after kWhole: the answer said nothing against it, and
  /// nothing came after it.
  bool reusable() const { return reusable_; }

 private:
  enum class Part { kHead, kLength, kChunkSize, kChunk, kChunkEnd, kTrailer, kUntilEnd, kDone };

  bool TakeLine(absl::string_view& data, absl::string_view& line);
  State TakeHeadLine(absl::string_view line);
  State TakeHead();
  State ChooseBody();
  State TakeChunkSize(absl::string_view line);
  State TakeLineOfPart(absl::string_view line);
  State TakeBody(absl::string_view& data);
  State Whole();

  HttpMethod method_ = HttpMethod::kGet;
  HttpResponseSink* sink_ = nullptr;
  HttpResponseHead head_;
  Part part_ = Part::kDone;
  uint64_t left_ = 0;  // Of the body with a length, or of the chunk.
  size_t head_bytes_ = 0;
  std::string half_line_;  // What came of a line that has not ended yet.
  bool begun_ = false;
  bool http_ = false;  // The status line has come.
  bool reusable_ = false;
};

}  // namespace bucketvol
