#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

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
  HttpResponseHead head;
  bool head_given = false;
  bool unwanted = false;  // The sink has had enough.
  TransferWatch watch;
};

}  // namespace bucketvol
