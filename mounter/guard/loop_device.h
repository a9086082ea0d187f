#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "mounter/base/unique_fd.h"
#include "mounter/guard/outcome.h"

namespace bucketvol {

/// A read-only loop device over an open file.
///
/// The device frees itself when the last user closes it: this object keeps it until a file system has it
/// open, its destructor lets go. A crash at any moment therefore leaves no device behind. Calls may block as
/// long as the file does.
class LoopDevice {
 public:
  enum class DirectIo { kOff, kRequired };

  /// Takes a free device and attaches `file` without a partition scan. kRequired: fails when the kernel fell
  /// back to buffered I/O, which it does silently. `label` (63 bytes of it) stays with the device as its
  /// LOOP_GET_STATUS64 file name: it tells whose a device is whose backing file nobody else can see.
  static Outcome<LoopDevice> Attach(const UniqueFd& file, DirectIo direct_io, std::string_view label);

  /// "/dev/loop3"
  const std::string& path() const { return path_; }

  /// Sets a file of the device's queue directory, such as read_ahead_kb. False when the kernel refuses.
  bool SetQueue(const char* name, unsigned value) const;

 private:
  LoopDevice(int number, UniqueFd fd)
      : number_(number), path_("/dev/loop" + std::to_string(number)), fd_(std::move(fd)) {}

  int number_;
  std::string path_;
  UniqueFd fd_;
};

/// Makes sure that loop devices can be had at all; the failure names what is missing.
Step CheckLoopControl();

}  // namespace bucketvol
