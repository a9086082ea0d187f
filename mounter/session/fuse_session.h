#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/base/executor.h"
#include "mounter/base/unique_fd.h"
#include "mounter/session/file_server.h"
#include "mounter/session/request_slots.h"

namespace bucketvol {

struct FuseSessionSettings {
  int threads = 0;  // That take requests from the kernel; 0: twice the cores, at least 2, at most 4.
  absl::Duration request_timeout =
      absl::Seconds(110);  // After it a read is answered EIO. Keep it below 120 s (hung_task).
  // Requests the kernel keeps in flight in the background. A loop device alone carries 128; data is striped
  // over several.
  uint16_t max_background = 1024;
  /// So often a request may be taken over before it is answered EIO: it may be what kills the workers. 0: any
  /// number of times.
  uint32_t most_attempts = 0;
};

/// Speaks FUSE over a descriptor of /dev/fuse (or a packet socket) and shows the files of a FileServer
/// read-only.
///
/// Reads are asynchronous: a thread that took a request hands it to the FileServer and takes the next;
/// whoever has the data replies. Everything else is answered at once. Names and attributes never change, so
/// the kernel may keep them for ever. All reads and writes of the descriptor go through functions of this
/// class (libfuse's custom I/O).
///
/// Requests are kept in `slots` from before they are read until they are answered, and so is what INIT agreed
/// on. A session on the slots of one that ended, however it ended, goes on where that one was: it answers
/// what was left unanswered (EIO for what is older than the limit), then takes new requests.
///
/// Serve runs once. Stop may be called by any thread at any time. The process's SIGRTMIN + 1 is used to wake
/// threads that wait in read(2); nobody else may use it.
class FuseSession {
 public:
  /// Borrows all three for its own life; `slots` must outlive the tasks of `timer`, which ends reads that
  /// take too long and shows in the slots that it still does.
  FuseSession(FuseSessionSettings settings, RequestSlots& slots, const Clock& clock, Executor& timer);
  ~FuseSession();

  /// Serves until the file system is unmounted or Stop is called, then answers what is in flight and returns
  /// OK. After an unmount nothing is in flight any more and reads still pending are forgotten. `files` may
  /// complete replies later still.
  /// FailedPrecondition: the kernel refused the session. Any other error: the descriptor failed.
  absl::Status Serve(UniqueFd fd, FileServer& files);

  /// Makes Serve take no more requests, answer those it took, and return OK. The kernel keeps what was not
  /// taken; another session on a duplicate of the descriptor can go on with it.
  void Stop();

  /// Reads in flight, and how many were answered by the time limit so far.
  uint64_t reads_in_flight() const;
  uint64_t reads_timed_out() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bucketvol
