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

namespace bucketvol {

struct FuseSessionSettings {
  int threads = 0;  // That take requests from the kernel; 0: twice the cores, at least 2, at most 4.
  absl::Duration request_timeout =
      absl::Seconds(100);  // After it a read is answered EIO. Keep it below 120 s (hung_task).
  // Requests the kernel keeps in flight in the background. A loop device alone carries 128; data is striped
  // over several.
  uint16_t max_background = 1024;
  /// The INIT request that an earlier session on this connection took, if one did: INIT comes once per
  /// connection.
  std::string init_request;
};

/// Speaks FUSE over a descriptor of /dev/fuse (or a packet socket) and shows the files of a FileServer
/// read-only.
///
/// Reads are asynchronous: a thread that took a request hands it to the FileServer and takes the next;
/// whoever has the data replies. Everything else is answered at once. Names and attributes never change, so
/// the kernel may keep them for ever. All reads and writes of the descriptor go through functions of this
/// class (libfuse's custom I/O).
///
/// Serve runs once. Stop may be called by any thread at any time. The process's SIGRTMIN + 1 is used to wake
/// threads that wait in read(2); nobody else may use it.
class FuseSession {
 public:
  /// Borrows `clock` and `timer` (which ends reads that take too long) for its own life.
  FuseSession(FuseSessionSettings settings, const Clock& clock, Executor& timer);
  ~FuseSession();

  /// Serves until the file system is unmounted or Stop is called, then answers what is in flight and returns
  /// OK. After an unmount nothing is in flight any more and reads still pending are forgotten. `files` may
  /// complete replies later still.
  /// FailedPrecondition: the kernel refused the session. Any other error: the descriptor failed.
  absl::Status Serve(UniqueFd fd, FileServer& files);

  /// Makes Serve take no more requests, answer those it took, and return OK. The kernel keeps what was not
  /// taken; another session on a duplicate of the descriptor can go on with it.
  void Stop();

  /// The INIT request as it was taken from the kernel, for a successor's settings. Empty before it came.
  std::string init_request() const;

  /// Reads in flight, and how many were answered by the time limit so far.
  uint64_t reads_in_flight() const;
  uint64_t reads_timed_out() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bucketvol
