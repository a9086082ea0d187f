// The journal of a build that keeps no requests: what a session costs without one. It is linked in the place
// of mounter/session/request_journal.cc; all else of the program is the same. A worker that dies leaves
// nothing to its successor.
#include <unistd.h>

#include <cerrno>

#include "mounter/session/request_journal.h"

namespace bucketvol {

RequestJournal::RequestJournal(RequestSlots& slots, const Clock& clock)
    : slots_(slots), clock_(clock), generation_(0) {}

std::vector<RequestJournal::Inherited> RequestJournal::TakeOver() { return {}; }
std::optional<uint32_t> RequestJournal::Arm() { return std::nullopt; }
void RequestJournal::Disarm(uint32_t) {}
RequestJournal::Noted RequestJournal::Note(uint32_t, size_t) { return Noted::kNew; }
uint64_t RequestJournal::NumberOf(uint64_t unique) { return unique; }
bool RequestJournal::Settle(uint64_t) { return true; }
void RequestJournal::Close() {}

// As libfuse does it: one buffer for each thread.
RequestTaker::RequestTaker(RequestJournal& journal, int fd)
    : journal_(journal), fd_(fd), spill_(journal.slots().request_bytes() + (64 << 10)) {}

RequestTaker::~RequestTaker() = default;

absl::Span<char> RequestTaker::Take() {
  const ssize_t got = read(fd_, spill_.data(), spill_.size());
  if (got == 0) errno = 0;
  if (got <= 0) return {};
  return {spill_.data(), static_cast<size_t>(got)};
}

}  // namespace bucketvol
