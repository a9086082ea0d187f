#include "mounter/cache/node_ledger.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "mounter/base/errno_status.h"

namespace bucketvol {

// Two entries never share a cache line.
struct alignas(64) NodeLedger::Entry {
  std::atomic<uint64_t> bytes;  // 0: counts nothing.
  std::atomic<uint64_t> scope;
  std::atomic<Claim> claim;
  std::atomic<Want> want;
};

struct NodeLedger::Table {
  static constexpr uint64_t kMagic =
      0x01'00'4d'45'4d'56'42;  // "BVMEM", version 1. Another layout: another one.

  std::atomic<uint64_t> magic;
  std::atomic<uint64_t> in_use;  // No entry from here on was ever taken.
  std::array<Entry, kEntries> entries;
};

namespace {

// No entry counts more, so that sums of garbage do not wrap.
constexpr uint64_t kMostBytes = uint64_t{1} << 50;

}  // namespace

uint64_t NodeLedger::TableBytes() { return sizeof(Table); }

absl::StatusOr<std::unique_ptr<NodeLedger>> NodeLedger::Map(UniqueFd table, UniqueFd locks) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<Claim>::is_always_lock_free);
  struct stat info;
  if (fstat(table.get(), &info) != 0) return ErrnoToStatus(errno, "memory of the node");
  if (static_cast<uint64_t>(info.st_size) < sizeof(Table))
    return absl::FailedPreconditionError("memory of the node: the table is too short");
  void* const base = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED, table.get(), 0);
  if (base == MAP_FAILED) return ErrnoToStatus(errno, "map the memory of the node");
  std::unique_ptr<NodeLedger> ledger(new NodeLedger(static_cast<Table*>(base), std::move(locks)));
  uint64_t magic = 0;
  if (!ledger->table_->magic.compare_exchange_strong(magic, Table::kMagic) && magic != Table::kMagic)
    return absl::FailedPreconditionError("memory of the node: the table is of another layout");
  return ledger;
}

NodeLedger::~NodeLedger() { munmap(table_, sizeof(Table)); }

bool NodeLedger::Lock(size_t number) {
  if (held_[number].exchange(true)) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(number);
  lock.l_len = 1;
  if (fcntl(locks_.get(), F_SETLK, &lock) == 0) return true;
  held_[number] = false;
  return false;
}

void NodeLedger::Unlock(size_t number) {
  struct flock lock {};
  lock.l_type = F_UNLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(number);
  lock.l_len = 1;
  fcntl(locks_.get(), F_SETLK, &lock);
  held_[number] = false;
}

size_t NodeLedger::InUse() const { return std::min<uint64_t>(table_->in_use.load(), kEntries); }

NodeLedger::Place NodeLedger::Take(uint64_t scope, Claim claim) {
  for (size_t number = 0; number < kEntries; ++number) {
    if (!Lock(number)) continue;
    Entry& entry = table_->entries[number];
    entry.bytes = 0;
    entry.scope = scope;
    entry.claim = claim;
    entry.want = Want::kNothing;
    uint64_t in_use = table_->in_use.load();
    while (in_use <= number && !table_->in_use.compare_exchange_weak(in_use, number + 1)) {
    }
    return {number, &entry};
  }
  return {};
}

void NodeLedger::GiveBack(const Place& place) {
  if (!place.number) return;
  place.entry->bytes = 0;
  Unlock(*place.number);
}

void NodeLedger::SetBytes(const Place& place, uint64_t bytes) {
  if (place.number) place.entry->bytes = bytes;
}

void NodeLedger::SetWant(const Place& place, Want want) {
  if (place.number) place.entry->want = want;
}

NodeLedger::Totals NodeLedger::Look(uint64_t scope, const Place& asker) const {
  Totals totals;
  const size_t in_use = InUse();
  for (size_t number = 0; number < in_use; ++number) {
    const Entry& entry = table_->entries[number];
    const uint64_t bytes = std::min(entry.bytes.load(), kMostBytes);
    if (bytes == 0) continue;
    const bool same_scope = entry.scope.load() == scope;
    if (scope != 0 && !same_scope) continue;
    totals.bytes += bytes;
    if (!same_scope || entry.claim.load() == Claim::kFirm) {
      totals.firm_bytes += bytes;
      continue;
    }
    ++totals.sharers;
    totals.wanted |= entry.want.load() == Want::kFairShare && &entry != asker.entry;
  }
  return totals;
}

void NodeLedger::Reap() {
  const size_t in_use = InUse();
  for (size_t number = 0; number < in_use; ++number) {
    if (table_->entries[number].bytes.load() == 0 || !Lock(number)) continue;
    table_->entries[number].bytes = 0;
    Unlock(number);
  }
}

}  // namespace bucketvol
