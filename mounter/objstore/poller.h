#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// Waits for descriptors of one thread to become ready, by epoll.
///
/// Only Wake may be called by other threads. Forgotten connections stay registered with the kernel until an
/// event comes for them: one that goes from one request to the next costs no system call.
class Poller {
 public:
  static absl::StatusOr<Poller> Make();

  /// `fd` is a connection, and Closing will be called before it is closed. Others are unknown to the kernel
  /// as soon as they are forgotten: they may be closed by somebody who does not tell.
  void Opened(int fd);

  struct Interest {
    bool read = false;
    bool write = false;
  };
  /// Reports `fd` while it is ready for any of `interest`. Replaces the interest of before.
  void Watch(int fd, Interest interest);
  /// Reports `fd` no more.
  void Forget(int fd);
  /// Must be told before a descriptor that was watched is closed, since its number comes back.
  void Closing(int fd);

  struct Event {
    int fd;
    bool readable, writable, failed;
  };
  /// Waits until something is ready, Wake was called, or `timeout` is over (rounded up to milliseconds;
  /// infinite: no limit), and reports what is. `on_event` may call Watch and Forget.
  void Wait(absl::Duration timeout, absl::FunctionRef<void(const Event&)> on_event);
  /// Ends a Wait that is going on, or the next one.
  void Wake();

 private:
  struct Entry {
    uint32_t wanted = 0;      // What Watch asked for; 0: forgotten.
    uint32_t registered = 0;  // What the kernel knows.
    bool connection = false;  // See Opened.
  };

  Poller(UniqueFd epoll, UniqueFd wake) : epoll_(std::move(epoll)), wake_(std::move(wake)) {}
  Entry& EntryOf(int fd);
  void Register(int fd, uint32_t events);

  UniqueFd epoll_;
  UniqueFd wake_;
  std::vector<Entry> entries_;  // By descriptor.
};

}  // namespace bucketvol
