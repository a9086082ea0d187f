#include "mounter/session/request_slots.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace bucketvol {
namespace {

// Two slots never share a cache line, so that threads do not disturb each other.
constexpr uint32_t kAlign = 64;
constexpr uint32_t kMaxSlots = 1 << 16;
constexpr uint32_t kMaxSlotBytes = 8 << 20;

uint32_t Aligned(uint32_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

std::string Words(const char* what) { return std::string(what) + ": " + strerror(errno); }

void Describe(const SlotsLayout& layout, SlotsHeader& header) {
  header.version = SlotsHeader::kVersion;
  header.header_bytes = Aligned(sizeof(SlotsHeader));
  header.result_at = sizeof(SlotHeader);
  header.result_bytes = Aligned(layout.result_bytes);
  header.request_at = header.result_at + header.result_bytes;
  header.request_bytes = Aligned(layout.request_bytes);
  header.slot_bytes = header.request_at + header.request_bytes;
  header.slots = layout.slots;
  header.magic = SlotsHeader::kMagic;
}

size_t BytesOf(const SlotsLayout& layout) {
  const size_t slot = sizeof(SlotHeader) + Aligned(layout.result_bytes) + Aligned(layout.request_bytes);
  return Aligned(sizeof(SlotsHeader)) + layout.slots * slot;
}

char* MapShared(const UniqueFd& memory, size_t bytes) {
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  return base == MAP_FAILED ? nullptr : static_cast<char*>(base);
}

// Fields of a request's header that others look at while the kernel or a thread writes them.
constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

std::atomic_ref<uint32_t> Length(char* request) {
  return std::atomic_ref(*reinterpret_cast<uint32_t*>(request + offsetof(fuse_in_header, len)));
}

std::atomic_ref<uint64_t> Unique(char* request) {
  return std::atomic_ref(*reinterpret_cast<uint64_t*>(request + offsetof(fuse_in_header, unique)));
}

}  // namespace

bool WantsReply(uint32_t opcode) {
  return opcode != FUSE_FORGET && opcode != FUSE_BATCH_FORGET && opcode != FUSE_INTERRUPT;
}

std::optional<RequestSlots> RequestSlots::Create(const SlotsLayout& layout, std::string& why) {
  UniqueFd memory(memfd_create("bucketvol-requests", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const size_t bytes = BytesOf(layout);
  if (!memory.valid() || ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    why = Words("make memory for requests");
    return std::nullopt;
  }
  char* base = MapShared(memory, bytes);
  if (base == nullptr) {
    why = Words("map memory for requests");
    return std::nullopt;
  }
  Describe(layout, *reinterpret_cast<SlotsHeader*>(base));
  munmap(base, bytes);
  return Map(std::move(memory), why);
}

std::optional<RequestSlots> RequestSlots::Map(UniqueFd memory, std::string& why) {
  struct stat info;
  if (fstat(memory.get(), &info) != 0) {
    why = Words("memory for requests");
    return std::nullopt;
  }
  const auto bytes = static_cast<size_t>(info.st_size);
  // Without the seal another process could take pages away under our feet.
  if (bytes < sizeof(SlotsHeader) || (fcntl(memory.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
    why = "memory for requests is none of ours";
    return std::nullopt;
  }
  char* base = MapShared(memory, bytes);
  if (base == nullptr) {
    why = Words("map memory for requests");
    return std::nullopt;
  }
  RequestSlots slots(std::move(memory), base, bytes);
  if (!slots.Check(why)) return std::nullopt;
  slots.MakePresent();
  return slots;
}

RequestSlots::RequestSlots(UniqueFd memory, char* base, size_t bytes)
    : memory_(std::move(memory)), base_(base), bytes_(bytes) {}

RequestSlots::RequestSlots(RequestSlots&& other) noexcept
    : memory_(std::move(other.memory_)),
      base_(std::exchange(other.base_, nullptr)),
      bytes_(other.bytes_),
      header_bytes_(other.header_bytes_),
      slot_bytes_(other.slot_bytes_),
      slots_(other.slots_),
      request_at_(other.request_at_),
      request_bytes_(other.request_bytes_) {}

RequestSlots::~RequestSlots() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

bool RequestSlots::Check(std::string& why) {
  const SlotsHeader& told = header();
  if (told.magic != SlotsHeader::kMagic || told.version != SlotsHeader::kVersion) {
    why = "memory for requests has version " + std::to_string(told.version) + ", this program knows " +
          std::to_string(SlotsHeader::kVersion);
    return false;
  }
  header_bytes_ = told.header_bytes;
  slot_bytes_ = told.slot_bytes;
  slots_ = told.slots;
  request_at_ = told.request_at;
  request_bytes_ = told.request_bytes;
  const bool aligned = header_bytes_ % kAlign == 0 && slot_bytes_ % kAlign == 0 && request_at_ % 8 == 0;
  const bool inside = header_bytes_ >= sizeof(SlotsHeader) && slots_ > 0 && slots_ <= kMaxSlots &&
                      slot_bytes_ <= kMaxSlotBytes && request_at_ >= sizeof(SlotHeader) &&
                      request_at_ <= slot_bytes_ && request_bytes_ <= slot_bytes_ - request_at_ &&
                      request_bytes_ >= sizeof(fuse_in_header) && header_bytes_ <= bytes_ &&
                      slots_ <= (bytes_ - header_bytes_) / slot_bytes_;
  if (!aligned || !inside) why = "memory for requests is damaged";
  return aligned && inside;
}

// The kernel copies a request into a slot while nobody can catch its failure: a page that is not there, in a
// process that was just killed, would lose the request.
void RequestSlots::MakePresent() const {
  mlock(base_, bytes_);  // Refused beyond RLIMIT_MEMLOCK; the pages are made all the same.
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t at = 0; at < bytes_; at += page) {
    reinterpret_cast<std::atomic<uint32_t>*>(base_ + at)->fetch_or(0, std::memory_order_relaxed);
  }
}

uint64_t RequestSlots::UniqueOf(uint32_t index) const { return Unique(request(index)).load(kRelaxed); }

void RequestSlots::SetUnique(uint32_t index, uint64_t unique) const {
  Unique(request(index)).store(unique, kRelaxed);
}

void RequestSlots::ClearRequest(uint32_t index) const {
  Length(request(index)).store(0, kRelaxed);
  Unique(request(index)).store(0, kRelaxed);
}

bool RequestSlots::IsTaken(uint32_t index) const {
  switch (static_cast<SlotState>(slot(index).state.load(std::memory_order_acquire))) {
    case SlotState::kFree:
      return false;
    case SlotState::kBusy:
      return true;
    case SlotState::kArmed:
      break;
  }
  return Length(request(index)).load(kRelaxed) != 0;
}

std::vector<uint32_t> RequestSlots::Taken() const {
  std::vector<std::pair<uint64_t, uint32_t>>
      found;  // Numbers are taken once: the memory may change meanwhile.
  for (uint32_t index = 0; index < slots_; ++index) {
    if (IsTaken(index)) found.emplace_back(UniqueOf(index) & ~kResentBit, index);
  }
  std::sort(found.begin(), found.end());
  std::vector<uint32_t> taken;
  taken.reserve(found.size());
  for (const auto& [unique, index] : found) taken.push_back(index);
  return taken;
}

}  // namespace bucketvol
