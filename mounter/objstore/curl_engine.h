#pragma once

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/base/unique_fd.h"
#include "mounter/objstore/address_book.h"
#include "mounter/objstore/curl_transport.h"
#include "mounter/objstore/http_transfer.h"
#include "mounter/objstore/poller.h"

namespace bucketvol {

/// libcurl at work for one event loop: makes connections, and speaks TLS and to proxies.
///
/// Not thread-safe. Tells the poller which descriptors to watch. Gives heads and bodies to the sinks of the
/// transfers inside OnReady and OnTimer, never OnDone. Times are those of Clock::Elapsed.
class CurlEngine {
 public:
  virtual ~CurlEngine() = default;

  /// A transfer that the engine can work on; it dies before the engine. Costs more than a request does.
  virtual std::unique_ptr<HttpTransfer> MakeTransfer() = 0;

  enum class Work { kRequest, kConnection };
  /// Begins with the whole request of a transfer, or only with a connection for it.
  virtual void Begin(HttpTransfer& transfer, Work work) = 0;
  /// Leaves it alone from now on. Does nothing if the engine is not at it.
  virtual void Leave(HttpTransfer& transfer) = 0;

  /// A descriptor that is the engine's is ready.
  virtual void OnReady(const Poller::Event& event, absl::Duration now) = 0;
  /// To be called once timer() has come.
  virtual void OnTimer(absl::Duration now) = 0;
  virtual absl::Duration timer() const = 0;

  struct Done {
    HttpTransfer& transfer;
    Work work;
    absl::Status status;
  };
  /// Tells one piece of work that is over, each once; nullopt when there is no other.
  virtual std::optional<Done> NextDone() = 0;
  /// Takes over the connection that has been made for a transfer, and leaves the transfer alone. Invalid,
  /// with errno: there are no more descriptors.
  virtual UniqueFd TakeConnection(HttpTransfer& transfer) = 0;
};

/// Borrows everything.
absl::StatusOr<std::unique_ptr<CurlEngine>> MakeCurlEngine(const TransportSettings& settings,
                                                           const Clock& clock, AddressBook& addresses,
                                                           Poller& poller);

}  // namespace bucketvol
