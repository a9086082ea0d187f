#include "mounter/session/init_exchange.h"

#include <linux/fuse.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace bucketvol {
namespace {

// Bits of fuse_init_in that the kernel headers of Debian 12 do not have yet.
constexpr uint32_t kInitExt = 1u << 30;   // flags2 is there.
constexpr uint32_t kHasResend = 1u << 7;  // Of flags2.

}  // namespace

void RecordInit(RequestSlots& slots, absl::string_view request, absl::string_view reply) {
  SlotsHeader& header = slots.header();
  if (request.size() > SlotsHeader::kInitBytes || reply.size() > SlotsHeader::kInitBytes) return;
  std::memcpy(header.init_request, request.data(), request.size());
  std::memcpy(header.init_reply, reply.data(), reply.size());
  header.init_request_bytes = static_cast<uint32_t>(request.size());
  header.init_reply_bytes = static_cast<uint32_t>(reply.size());
  header.init_state.store(static_cast<uint32_t>(InitState::kAnswered), std::memory_order_release);
}

std::string RecordedInit(const RequestSlots& slots) {
  const SlotsHeader& header = slots.header();
  if (header.init_state.load(std::memory_order_acquire) != static_cast<uint32_t>(InitState::kAnswered))
    return "";
  const size_t bytes = std::min<size_t>(header.init_request_bytes, SlotsHeader::kInitBytes);
  return std::string(reinterpret_cast<const char*>(header.init_request), bytes);
}

bool CanResend(absl::string_view init_request) {
  fuse_init_in init;
  if (init_request.size() < sizeof(fuse_in_header) + offsetof(fuse_init_in, flags2) + sizeof init.flags2)
    return false;
  init_request.remove_prefix(sizeof(fuse_in_header));
  std::memcpy(&init, init_request.data(), std::min(sizeof init, init_request.size()));
  return (init.flags & kInitExt) != 0 && (init.flags2 & kHasResend) != 0;
}

std::string LimitWrites(const iovec* parts, int count, uint32_t max_write) {
  std::string reply;
  for (int i = 0; i < count; ++i) reply.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  const size_t field = sizeof(fuse_out_header) + offsetof(fuse_init_out, max_write);
  if (reply.size() >= field + sizeof max_write)
    std::memcpy(reply.data() + field, &max_write, sizeof max_write);
  return reply;
}

}  // namespace bucketvol
