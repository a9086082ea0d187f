#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mounter/base/unique_fd.h"

namespace bucketvol {

// The memory in which requests taken from /dev/fuse outlive the process that took them. The guard makes it
// and hands it to each worker; mounter/session/FORMAT.md has the bytes. No abseil here: the guard uses it
// too.

enum class SlotState : uint32_t {
  kFree = 0,
  kArmed = 1,  // A thread reads into it: a request is there if its length is not zero.
  kBusy = 2,   // Holds a request that was taken and not answered.
};

enum class InitState : uint32_t { kNone = 0, kAnswered = 1 };

/// Linux 6.9 sets it in the number of a request that it hands out for a second time (FUSE_UNIQUE_RESEND).
inline constexpr uint64_t kResentBit = uint64_t{1} << 63;

/// Whether the kernel waits for an answer to requests of an operation (FUSE_*).
bool WantsReply(uint32_t opcode);

/// How many slots of which size. Fixed when the memory is made.
struct SlotsLayout {
  uint32_t slots = 1152;         // Requests in the background (1,024) and those that somebody waits for.
  uint32_t result_bytes = 192;   // What a changing operation records before its reply.
  uint32_t request_bytes = 768;  // The longest request of a read-only file system is a name of 255 bytes.
};

/// The beginning of the memory.
struct SlotsHeader {
  static constexpr uint64_t kMagic = 0x0a53544f4c535642;  // "BVSLOTS\n"
  // Raised when the meaning of a field changes. Fields may be added behind the others without that: sizes and
  // places are read from the header.
  static constexpr uint32_t kVersion = 1;
  static constexpr size_t kInitBytes = 256;

  uint64_t magic;
  uint32_t version;
  uint32_t header_bytes;  // Where slot 0 begins.
  uint32_t slot_bytes;    // From one slot to the next.
  uint32_t slots;
  uint32_t result_at;  // Places inside a slot.
  uint32_t result_bytes;
  uint32_t request_at;
  uint32_t request_bytes;
  std::atomic<uint64_t> generation;  // Of the worker that may take requests.
  std::atomic<uint64_t> beat;        // Grows while that worker makes progress.
  std::atomic<uint32_t> init_state;  // An InitState.
  uint32_t init_request_bytes;
  uint32_t init_reply_bytes;
  uint32_t padding;
  unsigned char init_request[kInitBytes];
  unsigned char init_reply[kInitBytes];
};

/// The beginning of each slot; result and request follow.
struct SlotHeader {
  std::atomic<uint32_t> state;         // A SlotState.
  std::atomic<uint32_t> attempts;      // Successors that took the request over.
  std::atomic<int64_t> taken_ms;       // CLOCK_MONOTONIC; 0: the reader died before it could tell.
  std::atomic<uint64_t> generation;    // Of the worker that took it.
  std::atomic<uint32_t> length;        // Of the request. What is longer than the slot was not kept.
  std::atomic<uint32_t> result_state;  // 0: none recorded.
  std::atomic<uint32_t> result_length;
  uint32_t padding[7];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free &&
              std::atomic<uint32_t>::is_always_lock_free);
static_assert(sizeof(SlotHeader) == 64);

/// A mapping of the slots.
///
/// Thread-safe as far as its fields are atomic: who owns a slot says RequestJournal. The memory is locked and
/// present, so that the kernel never fails to copy a request into it.
class RequestSlots {
 public:
  /// Makes the memory. Its size cannot be changed by anybody. nullopt, with the reason in `why`.
  static std::optional<RequestSlots> Create(const SlotsLayout& layout, std::string& why);
  /// Maps memory that another process made. Refuses another version, and places outside of the memory.
  static std::optional<RequestSlots> Map(UniqueFd memory, std::string& why);

  RequestSlots(RequestSlots&& other) noexcept;
  RequestSlots& operator=(RequestSlots&&) = delete;
  ~RequestSlots();

  const UniqueFd& memory() const { return memory_; }
  SlotsHeader& header() const { return *reinterpret_cast<SlotsHeader*>(base_); }
  /// As they were checked: what the memory says later does not count.
  uint32_t count() const { return slots_; }
  uint32_t request_bytes() const { return request_bytes_; }

  SlotHeader& slot(uint32_t index) const { return *reinterpret_cast<SlotHeader*>(At(index)); }
  /// The bytes of a request, beginning with its fuse_in_header.
  char* request(uint32_t index) const { return At(index) + request_at_; }

  /// The number by which the kernel knows the request in a slot.
  uint64_t UniqueOf(uint32_t index) const;
  void SetUnique(uint32_t index, uint64_t unique) const;
  /// Makes a slot's request one that has not come yet.
  void ClearRequest(uint32_t index) const;
  /// Whether a slot holds a request that was taken and not answered.
  bool IsTaken(uint32_t index) const;
  /// All of those, in the order in which the kernel numbered them.
  std::vector<uint32_t> Taken() const;

 private:
  RequestSlots(UniqueFd memory, char* base, size_t bytes);
  bool Check(std::string& why);
  void MakePresent() const;
  char* At(uint32_t index) const { return base_ + header_bytes_ + size_t{index} * slot_bytes_; }

  UniqueFd memory_;
  char* base_;  // Null once moved from.
  size_t bytes_;
  uint32_t header_bytes_ = 0;
  uint32_t slot_bytes_ = 0;
  uint32_t slots_ = 0;
  uint32_t request_at_ = 0;
  uint32_t request_bytes_ = 0;
};

}  // namespace bucketvol
