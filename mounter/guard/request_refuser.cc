#include "mounter/guard/request_refuser.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace bucketvol {
namespace {

// The guard has other things to do in between.
constexpr int kAtATime = 64;
// More than the longest request that any worker allows (1 MiB of data and its header).
constexpr size_t kBufferBytes = (1 << 20) + (8 << 10);

void SetWaiting(const UniqueFd& device, bool waits) {
  const int flags = fcntl(device.get(), F_GETFL);
  if (flags >= 0) fcntl(device.get(), F_SETFL, waits ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

void Refuse(const UniqueFd& device, uint64_t unique) {
  fuse_out_header header{};
  header.len = sizeof header;
  header.error = -EIO;
  header.unique = unique;
  // ENOENT: answered before, or nobody waits.
  [[maybe_unused]] const ssize_t written = write(device.get(), &header, sizeof header);
}

}  // namespace

RequestRefuser::RequestRefuser(const UniqueFd& device, const RequestSlots& slots)
    : device_(device), buffer_(kBufferBytes) {
  SetWaiting(device, false);
  for (const uint32_t index : slots.Taken()) {
    Refuse(device, slots.UniqueOf(index));
    slots.slot(index).state.store(static_cast<uint32_t>(SlotState::kFree), std::memory_order_release);
  }
}

RequestRefuser::~RequestRefuser() {
  if (device_.valid()) SetWaiting(device_, true);
}

bool RequestRefuser::RefuseSome() {
  for (int i = 0; i < kAtATime; ++i) {
    const ssize_t got = read(device_.get(), buffer_.data(), buffer_.size());
    if (got < 0 && errno == EAGAIN) return true;
    if (got < 0 && errno != EINTR && errno != ENOENT) return errno != ENODEV;
    fuse_in_header header;
    if (got < static_cast<ssize_t>(sizeof header)) continue;
    std::memcpy(&header, buffer_.data(), sizeof header);
    if (WantsReply(header.opcode)) Refuse(device_, header.unique);
  }
  return true;
}

}  // namespace bucketvol
