#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

enum class HttpMethod { kGet, kHead };

absl::string_view HttpMethodName(HttpMethod method);

/// A header of a request. Names are in lower case; values hold no line ends.
struct HttpHeader {
  std::string name;
  std::string value;
};

struct HttpRequest {
  HttpMethod method = HttpMethod::kGet;
  std::string url;  // Absolute; sent as it is: dots and slashes of the path are not normalised.
  std::vector<HttpHeader> headers;  // Host is added from the url.
  absl::Duration deadline =
      absl::InfiniteDuration();                // For all of it; the transport's own limit if that is shorter.
  std::shared_ptr<Cancellation> cancellation;  // May be null.
  std::shared_ptr<LastPlace> last_place = nullptr;  // Read and set when it goes out. May be null.
};

/// Status and headers of an answer. Keeps its memory when cleared, so that it can serve one answer after the
/// other.
class HttpResponseHead {
 public:
  void Clear();
  /// Takes the next line as it came: the status line (which begins anew), "Name: value", or the empty line at
  /// the end. True when the head is whole; that of an interim answer (1xx) never is.
  bool TakeLine(absl::string_view line);

  int status() const { return status_; }
  /// The trimmed value of the first header of this name (any case), or nullopt.
  std::optional<absl::string_view> Find(absl::string_view name) const;
  /// The value, or an empty view.
  absl::string_view Value(absl::string_view name) const { return Find(name).value_or(absl::string_view()); }
  /// nullopt when absent or no number.
  std::optional<uint64_t> ContentLength() const;

 private:
  void AddField(absl::string_view line);

  struct Field {
    uint32_t name, colon, end;  // Offsets into text_.
  };
  int status_ = 0;
  std::string text_;
  std::vector<Field> fields_;
};

/// Receives one answer. Called by one thread at a time; must not block it.
class HttpResponseSink {
 public:
  virtual ~HttpResponseSink() = default;
  /// The service has the request: once at most, before OnDone. Comes when the request has been written to a
  /// new connection. One that was kept may have been closed by the service meanwhile, and then the request
  /// goes out again over another: there it comes with the answer, or with the end. Never for a request that
  /// was ended before it was written.
  virtual void OnSent() {}
  /// The final status and headers, before any body. `head` dies with the call. False: the rest is not wanted.
  virtual bool OnHead(const HttpResponseHead& head) = 0;
  /// The next bytes of the body. False: the rest is not wanted.
  virtual bool OnBody(absl::Span<const char> data) = 0;
  /// The end, once; the transport forgets the sink before it calls. OK: a whole answer came, whatever its
  /// status. Aborted: the sink did not want the rest. Cancelled, DeadlineExceeded, Unavailable, DataLoss (the
  /// body is shorter than its Content-Length) carry a StoreError with http_status 0 that tells whether trying
  /// again may help.
  virtual void OnDone(absl::Status status) = 0;
};

/// Sends HTTP requests and returns at once.
///
/// Thread-safe. The sink is called on a thread of the transport, never inside Send, and stays alive until
/// OnDone returned.
class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  virtual void Send(HttpRequest request, HttpResponseSink* sink) = 0;
  /// Ends every request with Cancelled, also those sent from now on. Returns at once; the destructor waits
  /// for the sinks.
  virtual void Shutdown() = 0;
};

}  // namespace bucketvol
