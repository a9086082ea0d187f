#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "mounter/objstore/address_book.h"
#include "mounter/objstore/http_transport.h"
#include "mounter/objstore/plain_connections.h"
#include "mounter/objstore/transfer_watch.h"

namespace bucketvol {

/// What becomes of one request in an event loop. Kept and used again.
struct HttpTransfer {
  virtual ~HttpTransfer() = default;

  uint64_t id = 0;
  size_t index = 0;  // In the list of those under way.
  HttpRequest request;
  HttpResponseSink* sink = nullptr;
  uint64_t cancel_action = 0;
  std::string proxy;                 // Empty: none.
  PlainConnection* plain = nullptr;  // Over which it goes, if not by libcurl.
  SocketAddress peer;                // Whereto; not known before it goes out, and behind a proxy.
  absl::Duration peer_since;         // When that connection was made.
  HttpResponseHead head;
  bool head_given = false;
  bool unwanted = false;  // The sink has had enough.
  TransferWatch watch;

  /// The address that requests for the same have gone to before; 0: none.
  uint64_t last_place() const { return request.last_place ? request.last_place->address() : 0; }
  /// It goes out over a connection to `to`.
  void GoesTo(const SocketAddress& to, absl::Duration since, absl::Duration now) {
    peer = to;
    peer_since = since;
    if (request.last_place && to.known()) request.last_place->Set(to.Key());
    watch.Connected(now);
  }
  /// The request has been written to the end: `kept` tells that the connection has carried others before, so
  /// that only an answer shows that the service was still there.
  void Written(bool kept) {
    written_ = true;
    if (!kept) TellSent();
  }
  /// Bytes of the answer came.
  void Answered() { TellSent(); }
  /// It waits for a new connection. If it was written before, the service had closed that one before it came.
  void SendAnew(absl::Duration now) {
    written_ = false;
    peer = {};
    watch.Reconnect(now);
  }
  /// It has ended. Whoever was there to write to, and has not hung up, has the request.
  void Ended() {
    if (written_) TellSent();
    written_ = told_ = false;
  }

 private:
  void TellSent() {
    if (!std::exchange(told_, true)) sink->OnSent();
  }

  bool written_ = false;
  bool told_ = false;
};

}  // namespace bucketvol
