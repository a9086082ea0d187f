#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol {

/// What the processes of one node hold for data, each in an entry of a table that all of them map.
///
/// The table is a file of fixed size, all zeros at first. Whoever owns an entry holds a lock (fcntl(2)) on
/// the byte of its number in a second file. The kernel drops it when the process ends, however it ends: an
/// entry with bytes in it and no lock is a dead one's. Process numbers would not do: workers see neither each
/// other's start times nor those of another PID namespace.
///
/// Thread-safe, without locks among threads, and never waits. One per process and file of locks: closing
/// another descriptor of it would drop the locks. What others wrote is not trusted: it can make this mount
/// slow, no more.
class NodeLedger {
 public:
  static constexpr size_t kEntries = 1024;

  struct Entry;  // In shared memory.
  /// Of one owner. Without `number` it stands for one that found no place and counts nothing.
  struct Place {
    std::optional<size_t> number;
    Entry* entry = nullptr;
  };
  enum class Claim : uint32_t {
    kShared,  // Takes what the others leave.
    kFirm,    // Takes what it was promised.
  };
  enum class Want : uint32_t { kNothing, kFairShare };
  /// Everything that counts in a scope.
  struct Totals {
    uint64_t bytes = 0;
    uint64_t firm_bytes = 0;  // Of bytes: of those who do not share.
    uint64_t sharers = 0;
    bool wanted = false;  // Another one than the asker wants its fair share.
  };

  /// Bytes of the table. Whoever makes the file reserves them on the disk: a page that cannot be had ends the
  /// process that writes to it.
  static uint64_t TableBytes();

  /// Maps `table`, open for reading and writing, and closes it: who keeps it could cut the file short, which
  /// ends every process that looks at it. `locks` is another file, open for writing. FailedPrecondition when
  /// the table is too short or of another layout.
  static absl::StatusOr<std::unique_ptr<NodeLedger>> Map(UniqueFd table, UniqueFd locks);
  ~NodeLedger();

  /// Takes a free entry, with no bytes. `scope`: what the memory belongs to, 0 for the whole machine.
  Place Take(uint64_t scope, Claim claim);
  void GiveBack(const Place& place);
  void SetBytes(const Place& place, uint64_t bytes);
  void SetWant(const Place& place, Want want);

  /// Adds up everything if `scope` is 0, with other scopes among the firm; else that scope alone.
  Totals Look(uint64_t scope, const Place& asker) const;
  /// Clears the entries of dead processes.
  void Reap();

 private:
  struct Table;
  NodeLedger(Table* table, UniqueFd locks) : table_(table), locks_(std::move(locks)) {}
  bool Lock(size_t number);
  void Unlock(size_t number);
  size_t InUse() const;

  Table* const table_;
  const UniqueFd locks_;
  // Entries that this process owns or looks at: its own locks do not keep it out.
  std::array<std::atomic<bool>, kEntries> held_{};
};

}  // namespace bucketvol
