#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "mounter/base/clock.h"
#include "mounter/objstore/address_book.h"
#include "mounter/objstore/curl_transport.h"
#include "mounter/objstore/http_transport.h"

namespace bucketvol {

/// One thread of a transport, with its own connections.
class HttpLoop : public HttpTransport {
 public:
  /// How many requests have been sent and are not done. Thread-safe.
  virtual int in_flight() const = 0;
};

/// Borrows everything.
absl::StatusOr<std::unique_ptr<HttpLoop>> MakeHttpLoop(const TransportSettings& settings, const Clock& clock,
                                                       AddressBook& addresses);

}  // namespace bucketvol
