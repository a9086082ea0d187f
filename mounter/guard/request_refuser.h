#pragma once

#include <vector>

#include "mounter/base/unique_fd.h"
#include "mounter/session/request_slots.h"

namespace bucketvol {

/// Answers every request of a FUSE connection with EIO, in place of a worker that there is none of: an error
/// is better than a reader that hangs. Only for a time in which no worker reads the connection.
class RequestRefuser {
 public:
  /// Borrows `device`, whose reads no longer wait from now on, and refuses what dead workers left in `slots`.
  RequestRefuser(const UniqueFd& device, const RequestSlots& slots);
  /// Makes reads wait again.
  ~RequestRefuser();
  RequestRefuser(const RequestRefuser&) = delete;
  RequestRefuser& operator=(const RequestRefuser&) = delete;

  /// Refuses what has come, a bounded number at a time. Call it when the device is readable. False: the
  /// connection has ended.
  bool RefuseSome();

 private:
  const UniqueFd& device_;
  std::vector<char> buffer_;
};

}  // namespace bucketvol
