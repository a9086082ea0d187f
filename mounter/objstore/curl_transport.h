#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/objstore/address_book.h"
#include "mounter/objstore/http_transport.h"
#include "mounter/objstore/proxy_rules.h"

namespace bucketvol {

struct TransportSettings {
  int threads = 0;  // Event loops; each has its own connections. 0: as suits the machine (EventLoopsFor).
  // Kept per loop, idle ones and those in use: what exceeds them is opened anew for each request.
  int max_connections = 4096;
  absl::Duration connect_timeout = absl::Seconds(5);  // Name, TCP, proxy and TLS together.
  absl::Duration first_byte_timeout =
      absl::Seconds(20);  // From the request on the wire to the first byte of the answer.
  absl::Duration stall_timeout = absl::Seconds(10);   // Without any byte once the answer has begun.
  absl::Duration total_timeout = absl::Seconds(120);  // For one request, all of it.
  std::string ca_file;  // Certificates in PEM, beside the system's; empty: the system's alone.
  bool check_certificate = true;
  ProxySettings proxy;
  AddressBook::Resolve resolve =
      AddressBook::ResolveBySystem;  // All the addresses to spread connections over.
  std::string user_agent = "bucketvol";
};

/// How many event loops suit so many processors: one loop carries 1.5 to 3 GB/s, and two on few processors
/// only wake each other up.
int EventLoopsFor(double processors);

/// Makes a transport over libcurl: HTTP/1.1, epoll, a fixed number of threads whatever the number of
/// requests.
///
/// `clock` outlives the transport. An error when ca_file cannot be read or the kernel gives no descriptors.
absl::StatusOr<std::unique_ptr<HttpTransport>> MakeCurlTransport(const TransportSettings& settings,
                                                                 const Clock& clock);

}  // namespace bucketvol
