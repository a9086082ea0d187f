#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace bucketvol::bucketd {

struct HttpHeader {
  absl::string_view name;   // As sent; compare without regard to case.
  absl::string_view value;  // Trimmed.
};

/// The head of one HTTP/1.1 request. The views point into the text that was parsed.
struct HttpRequest {
  absl::string_view method;
  absl::string_view path;   // As sent, still percent-encoded; begins with '/'.
  absl::string_view query;  // As sent, without '?'.
  absl::string_view host;   // Of an absolute target, else of the Host header; with the port.
  std::vector<HttpHeader> headers;
  bool keep_alive = true;
  bool chunked = false;
  bool expects_continue = false;
  uint64_t content_length = 0;

  /// The value of the first header of that name (lower-case), or nullopt.
  std::optional<absl::string_view> Find(absl::string_view lower_name) const;
  /// As Find, with empty for a missing one.
  absl::string_view Get(absl::string_view lower_name) const { return Find(lower_name).value_or(""); }
};

/// Parses a head, from the request line to the empty line. False: not HTTP/1.x that this server can serve.
bool ParseHttpRequest(absl::string_view head, HttpRequest& request);

/// Gives the bytes of a body that is too large or too fast to be kept in memory.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// Writes the `size` bytes at `offset`; the same bytes each time, since a partly sent piece is asked for
  /// again. False: the bytes cannot be had any more, the connection is cut.
  virtual bool Read(uint64_t offset, char* out, size_t size) = 0;
};

/// How a reply goes over the wire: delays and deliberate damage.
struct Delivery {
  enum class Event { kNone, kClose, kReset, kStall };
  absl::Duration first_byte = absl::ZeroDuration();  // From the end of the request.
  uint64_t rate = 0;           // Bytes per second of this connection; 0: as fast as it goes.
  Event event = Event::kNone;  // Happens once half of the body was sent.
  absl::Duration stall = absl::ZeroDuration();
  bool corrupt = false;  // One bit of every 4 KiB of the body is turned over, the first byte included.
};

struct Reply {
  int status = 200;
  std::string headers;   // Whole lines with CRLF; Content-Length and Connection are added.
  std::string preamble;  // The body is preamble + body, or source_size bytes of `source` at source_offset.
  std::string body;
  std::unique_ptr<BodySource> source;
  uint64_t source_offset = 0;
  uint64_t source_size = 0;
  std::optional<uint64_t>
      content_length;      // What the header says when it is not the size of the body (HEAD, faults).
  bool head_only = false;  // Send no body (HEAD, 204, 304).
  bool close = false;      // End the connection after this reply.
  Delivery delivery;

  void Add(absl::string_view name, absl::string_view value);
  uint64_t body_size() const { return head_only ? 0 : preamble.size() + body.size() + source_size; }
};

/// The reason phrase of a status.
absl::string_view ReasonPhrase(int status);

}  // namespace bucketvol::bucketd
