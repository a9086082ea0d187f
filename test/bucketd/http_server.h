#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/base/clock.h"
#include "mounter/base/unique_fd.h"
#include "test/bucketd/http_message.h"
#include "test/bucketd/transport.h"

namespace bucketvol::bucketd {

/// One request and its answer. Calls come from one thread, in the order of declaration; destroyed when the
/// answer is sent or the connection is gone.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// False: the answer is known without the body. A client that waits for "100 Continue" gets it at once; of
  /// others the body is read and dropped.
  virtual bool wants_body() const = 0;
  /// The next bytes of the body, freed of the HTTP framing.
  virtual void OnBody(absl::string_view data) = 0;
  /// The request is complete.
  virtual Reply Finish() = 0;
  /// `body_bytes` of the reply's body went out; the rest, if any, will not.
  virtual void OnSent(uint64_t body_bytes) = 0;
};

/// Makes the answers. Thread-safe.
class Application {
 public:
  virtual ~Application() = default;
  /// `request` lives as long as the exchange. `worker` numbers the calling thread from 0.
  virtual std::unique_ptr<Exchange> Begin(const HttpRequest& request, int worker) = 0;
  virtual void OnConnection() = 0;
  /// The cap over all connections, in bytes per second; 0: none.
  virtual uint64_t TotalRate() const = 0;
};

struct HttpServerSettings {
  std::string host = "127.0.0.1";
  uint16_t port = 0;  // 0: any free one.
  int threads = 2;
  ssl_ctx_st* tls = nullptr;  // Borrowed; null: plain HTTP.
};

class EventLoop;
struct ServerContext;

/// An HTTP/1.1 server over epoll: connections are dealt out to a fixed number of threads, none of which ever
/// waits for anything but epoll. Keep-alive, pipelining, "100 Continue", chunked request bodies; every reply
/// has a Content-Length.
class HttpServer {
 public:
  /// Binds and starts to serve. `application` and `clock` are borrowed.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(const HttpServerSettings& settings,
                                                           Application& application, const Clock& clock);
  /// Closes every connection, whatever its state, and joins the threads.
  ~HttpServer();

  uint16_t port() const { return port_; }

 private:
  HttpServer(uint16_t port, UniqueFd listener);

  const uint16_t port_;
  const UniqueFd listener_;
  std::unique_ptr<ServerContext> context_;
  std::vector<std::unique_ptr<EventLoop>> loops_;
};

}  // namespace bucketvol::bucketd
