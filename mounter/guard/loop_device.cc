#include "mounter/guard/loop_device.h"

#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "mounter/guard/small_file.h"

namespace bucketvol {
namespace {

// Between LOOP_CTL_GET_FREE and LOOP_CONFIGURE anybody may take the device, and udev may hold a fresh one for
// a moment.
constexpr int kAttempts = 100;
constexpr timespec kPause{0, 5'000'000};

std::string SysPath(int number, const char* rest) {
  return "/sys/block/loop" + std::to_string(number) + "/" + rest;
}

Outcome<UniqueFd> OpenControl() {
  UniqueFd control(open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control.valid()) {
    return SystemFailure(
        errno,
        "no loop device: open /dev/loop-control (load the module loop, or give the container "
        "/dev/loop-control and /dev/loop*)");
  }
  return control;
}

Outcome<UniqueFd> OpenDevice(int number) {
  const std::string path = "/dev/loop" + std::to_string(number);
  UniqueFd device(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!device.valid()) return SystemFailure(errno, "no loop device: open " + path);
  return device;
}

loop_config ConfigFor(const UniqueFd& file, LoopDevice::DirectIo direct_io, std::string_view label) {
  loop_config config{};
  label.copy(reinterpret_cast<char*>(config.info.lo_file_name), LO_NAME_SIZE - 1);
  config.fd = static_cast<uint32_t>(file.get());
  config.info.lo_flags = LO_FLAGS_READ_ONLY | LO_FLAGS_AUTOCLEAR;
  if (direct_io == LoopDevice::DirectIo::kRequired) config.info.lo_flags |= LO_FLAGS_DIRECT_IO;
  return config;
}

}  // namespace

Step CheckLoopControl() {
  ASSIGN_OR_FAIL(const UniqueFd control, OpenControl());
  if (ioctl(control.get(), LOOP_CTL_GET_FREE) < 0) return SystemFailure(errno, "no loop device is free");
  return Nothing{};
}

Outcome<LoopDevice> LoopDevice::Attach(const UniqueFd& file, DirectIo direct_io, std::string_view label) {
  ASSIGN_OR_FAIL(const UniqueFd control, OpenControl());
  const loop_config config = ConfigFor(file, direct_io, label);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return SystemFailure(errno, "no loop device is free");
    ASSIGN_OR_FAIL(UniqueFd fd, OpenDevice(number));
    if (ioctl(fd.get(), LOOP_CONFIGURE, &config) != 0) {
      if (errno != EBUSY && errno != EAGAIN)
        return SystemFailure(errno, "attach /dev/loop" + std::to_string(number));
      nanosleep(&kPause, nullptr);
      continue;
    }
    LoopDevice device(number, std::move(fd));
    if (direct_io == DirectIo::kRequired && ReadSmallFile(SysPath(number, "loop/dio")) != "1\n") {
      return Failure{0, "loop device refuses direct I/O: " + device.path_};
    }
    return device;
  }
  return SystemFailure(EBUSY, "no loop device is free");
}

bool LoopDevice::SetQueue(const char* name, unsigned value) const {
  // A write stops the queue for a moment even where it changes nothing.
  const std::string path = SysPath(number_, "queue/") + name;
  const std::string text = std::to_string(value);
  return ReadSmallFile(path) == text + "\n" || WriteSmallFile(path, text);
}

}  // namespace bucketvol
