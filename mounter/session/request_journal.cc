#include "mounter/session/request_journal.h"

#include <linux/fuse.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace bucketvol {
namespace {

// The kernel refuses a smaller buffer, whatever the request.
constexpr size_t kReadBytes = FUSE_MIN_READ_BUFFER;
static_assert(sizeof(fuse_in_header) + sizeof(fuse_write_in) + kMaxWriteBytes <= kReadBytes);

void Publish(SlotHeader& slot, SlotState state) {
  slot.state.store(static_cast<uint32_t>(state), std::memory_order_release);
}

fuse_in_header HeaderOf(const RequestSlots& slots, uint32_t index) {
  fuse_in_header header;
  std::memcpy(&header, slots.request(index), sizeof header);
  return header;
}

}  // namespace

RequestJournal::RequestJournal(RequestSlots& slots, const Clock& clock)
    : slots_(slots), clock_(clock), generation_(slots.header().generation.load(std::memory_order_acquire)) {
  absl::MutexLock lock(&mu_);
  for (uint32_t index = slots.count(); index-- > 0;) {
    if (!slots.IsTaken(index)) FreeLocked(index);
  }
}

std::vector<RequestJournal::Inherited> RequestJournal::TakeOver() {
  std::vector<Inherited> all;
  const absl::Duration now = clock_.Elapsed();
  absl::MutexLock lock(&mu_);
  for (const uint32_t index : slots_.Taken()) {
    SlotHeader& slot = slots_.slot(index);
    const fuse_in_header header = HeaderOf(slots_, index);
    const int64_t taken_ms = slot.taken_ms.load(std::memory_order_relaxed);
    Inherited request;
    request.slot = index;
    request.unique = header.unique;
    request.opcode = header.opcode;
    request.age = taken_ms == 0 ? absl::ZeroDuration() : now - absl::Milliseconds(taken_ms);
    request.attempts = slot.attempts.fetch_add(1, std::memory_order_relaxed) + 1;
    request.whole = header.len >= sizeof header && header.len <= slots_.request_bytes();
    request.bytes = {slots_.request(index), std::min(header.len, slots_.request_bytes())};
    if (taken_ms == 0) slot.taken_ms.store(absl::ToInt64Milliseconds(now), std::memory_order_relaxed);
    Publish(slot, SlotState::kBusy);
    taken_[header.unique & ~kResentBit] = {index, header.unique};
    all.push_back(request);
  }
  return all;
}

std::optional<uint32_t> RequestJournal::Arm() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &RequestJournal::MayArm));
  if (closed_) return std::nullopt;
  const uint32_t index = free_.back();
  free_.pop_back();
  return index;
}

void RequestJournal::Disarm(uint32_t slot) {
  absl::MutexLock lock(&mu_);
  FreeLocked(slot);
}

void RequestJournal::FreeLocked(uint32_t slot) {
  Publish(slots_.slot(slot), SlotState::kFree);
  free_.push_back(slot);
}

RequestJournal::Noted RequestJournal::Note(uint32_t slot, size_t bytes) {
  const uint64_t number = slots_.UniqueOf(slot);
  absl::MutexLock lock(&mu_);
  const auto [entry, added] = taken_.try_emplace(number & ~kResentBit, Entry{slot, number});
  if (!added) {
    entry->second.number = number;
    renumbered_.store(true, std::memory_order_release);
    slots_.SetUnique(entry->second.slot, number);
    return Noted::kAgain;
  }
  SlotHeader& header = slots_.slot(slot);
  header.length.store(static_cast<uint32_t>(bytes), std::memory_order_relaxed);
  header.taken_ms.store(absl::ToInt64Milliseconds(clock_.Elapsed()), std::memory_order_relaxed);
  header.generation.store(generation_, std::memory_order_relaxed);
  Publish(header, SlotState::kBusy);
  return Noted::kNew;
}

uint64_t RequestJournal::NumberOf(uint64_t unique) {
  if (!renumbered_.load(std::memory_order_acquire)) return unique;
  absl::MutexLock lock(&mu_);
  const auto found = taken_.find(unique & ~kResentBit);
  return found == taken_.end() ? unique : found->second.number;
}

bool RequestJournal::Settle(uint64_t number) {
  absl::MutexLock lock(&mu_);
  const auto found = taken_.find(number & ~kResentBit);
  if (found == taken_.end()) return true;
  if (found->second.number != number) return false;
  FreeLocked(found->second.slot);
  taken_.erase(found);
  return true;
}

void RequestJournal::Close() {
  absl::MutexLock lock(&mu_);
  closed_ = true;
}

RequestTaker::RequestTaker(RequestJournal& journal, int fd)
    : journal_(journal), fd_(fd), spill_(journal.slots().request_bytes() + kReadBytes) {}

RequestTaker::~RequestTaker() {
  if (slot_) journal_.Disarm(*slot_);
}

// From here on a request may lie in the slot without anybody having noted it. A length that is not zero says
// so: the kernel writes it.
void RequestTaker::Arm(uint32_t slot) {
  RequestSlots& slots = journal_.slots();
  SlotHeader& header = slots.slot(slot);
  slots.ClearRequest(slot);
  for (auto* field : {&header.attempts, &header.length, &header.result_state, &header.result_length})
    field->store(0, std::memory_order_relaxed);
  header.taken_ms.store(0, std::memory_order_relaxed);
  Publish(header, SlotState::kArmed);
}

absl::Span<char> RequestTaker::Take() {
  RequestSlots& slots = journal_.slots();
  const size_t room = slots.request_bytes();
  while (slot_ || (slot_ = journal_.Arm())) {
    Arm(*slot_);
    char* const request = slots.request(*slot_);
    const std::array<iovec, 2> parts = {{{request, room}, {spill_.data() + room, spill_.size() - room}}};
    const ssize_t got = readv(fd_, parts.data(), parts.size());
    if (got == 0) errno = 0;
    if (got <= 0) return {};
    const auto size = static_cast<size_t>(got);
    if (journal_.Note(*slot_, size) == RequestJournal::Noted::kAgain) continue;
    slot_.reset();
    if (size <= room) return {request, size};
    std::memcpy(spill_.data(), request, room);
    return {spill_.data(), size};
  }
  errno = EINTR;  // Closed.
  return {};
}

}  // namespace bucketvol
