#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mounter/base/clock.h"
#include "mounter/session/request_slots.h"

namespace bucketvol {

/// Keeps the requests of one connection in the slots from before they are read until they are answered, so
/// that a successor finds those that nobody answered, whenever this process dies.
///
/// Thread-safe. One journal at a time may use a set of slots: the next one begins after the process of the
/// last has ended.
class RequestJournal {
 public:
  /// Takes the slots over: what is in none of the states of a taken request is free again. Borrows both.
  RequestJournal(RequestSlots& slots, const Clock& clock);

  /// A request that a predecessor took and did not answer.
  struct Inherited {
    uint32_t slot = 0;
    uint64_t unique = 0;
    uint32_t opcode = 0;
    absl::Duration age;      // Since it was taken.
    uint32_t attempts = 0;   // Successors that took it over, this one included.
    bool whole = false;      // All of it is in the slot.
    absl::Span<char> bytes;  // Of the request, as far as it is there.
  };
  /// All of them, in the order of the kernel's numbers. They stay taken until Settle.
  std::vector<Inherited> TakeOver();

  /// Gives a slot to read into, armed. Waits while all are in use; nullopt once Close was called.
  std::optional<uint32_t> Arm();
  /// Returns a slot into which nothing was read.
  void Disarm(uint32_t slot);
  enum class Noted {
    kNew,
    kAgain,  // The kernel handed it out for a second time while it is being worked on. The slot stays armed.
  };
  /// Notes what was read into an armed slot, `bytes` in all.
  Noted Note(uint32_t slot, size_t bytes);
  /// By which number the kernel knows a request now: it changes when the kernel hands it out again.
  uint64_t NumberOf(uint64_t unique);
  /// Frees the slot of a request that was answered as `number`, or that needs no answer. False, and nothing
  /// happens: the kernel has given it another number meanwhile.
  bool Settle(uint64_t number);
  /// Ends the waits of Arm, now and later.
  void Close();

  RequestSlots& slots() { return slots_; }

 private:
  void FreeLocked(uint32_t slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MayArm() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return closed_ || !free_.empty(); }

  struct Entry {
    uint32_t slot;
    uint64_t number;
  };

  RequestSlots& slots_;
  const Clock& clock_;
  const uint64_t generation_;            // Of this process.
  std::atomic<bool> renumbered_{false};  // Some request has another number than its first.
  absl::Mutex mu_;                       // Leaf.
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mu_);  // Last in, first out: few pages are in use.
  absl::flat_hash_map<uint64_t, Entry> taken_ ABSL_GUARDED_BY(mu_);  // By their first number.
};

/// The longest write for which RequestTaker has room; the kernel allows no smaller limit.
inline constexpr uint32_t kMaxWriteBytes = 4096;

/// Takes requests from the kernel for one thread: reads each straight into an armed slot. Its destructor
/// returns the slot. Not thread-safe.
class RequestTaker {
 public:
  /// Borrows `journal`. `fd`: of /dev/fuse, or a packet socket.
  RequestTaker(RequestJournal& journal, int fd);
  ~RequestTaker();
  RequestTaker(const RequestTaker&) = delete;
  RequestTaker& operator=(const RequestTaker&) = delete;

  /// Waits for the next request and notes it. Its bytes stay until it is settled, or until the next call if
  /// it is longer than a slot. Empty: nothing came, and errno tells why (0: the other end was closed).
  absl::Span<char> Take();

 private:
  void Arm(uint32_t slot);

  RequestJournal& journal_;
  const int fd_;
  std::optional<uint32_t> slot_;
  std::vector<char> spill_;  // What does not fit the slot is read behind the slot's length in here.
};

}  // namespace bucketvol
