#pragma once

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mounter/cache/node_ledger.h"

namespace bucketvol {

struct NodeShareSettings {
  uint64_t total_bytes = 0;  // That everybody in the scope may hold together.
  uint64_t scope = 0;        // See NodeLedger.
  NodeLedger::Claim claim = NodeLedger::Claim::kShared;
  // What each may hold whatever the others do: enough to go on with.
  uint64_t floor_bytes = 64 << 20;
};

/// What one mount may hold for data, in view of the others of its node.
///
/// It grows in steps as long as everything together stays within the total, and shrinks each second to what
/// is held. A mount that is refused less than its fair share (an equal part of what firm claims leave) says
/// so; then nobody grows beyond that, and those above it give back until everybody has it or wants no more.
///
/// Thread-safe. Reads are cheap; a step costs a look at the entries in use.
class NodeShare {
 public:
  static constexpr uint64_t kStepBytes = 2 << 20;

  /// Borrows `ledger`. Where that has no place left, this mount gets the floor.
  NodeShare(NodeLedger& ledger, const NodeShareSettings& settings);
  ~NodeShare();

  /// Bytes that may be held without asking again.
  uint64_t granted() const { return granted_.load(std::memory_order_relaxed); }
  /// Whether more was asked for lately than there is.
  bool refused() const { return refused_.load(std::memory_order_relaxed); }
  /// Asks for `bytes` in all; tells whether they are granted.
  bool Grow(uint64_t bytes);

  /// Above how many bytes this mount shall give back: its fair share where another one wants that, or what
  /// is left of its own where floors and firm claims have exceeded the total.
  uint64_t MostToKeep();
  /// Notes what is held, and gives back what is not. About once a second.
  void Settle(uint64_t held);

  /// What everybody in the scope holds.
  uint64_t used_by_all();
  uint64_t total() const { return settings_.total_bytes; }

 private:
  bool GrowLocked(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void PublishLocked(uint64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RefuseLocked(uint64_t bytes, uint64_t fair) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  uint64_t FairShare(const NodeLedger::Totals& totals) const;

  NodeLedger& ledger_;
  const NodeShareSettings settings_;
  const NodeLedger::Place place_;
  std::atomic<uint64_t> granted_{0};
  std::atomic<bool> refused_{false};

  absl::Mutex mu_;  // Leaf.
  uint64_t published_ ABSL_GUARDED_BY(mu_) = 0;
  bool reaped_ ABSL_GUARDED_BY(mu_) = false;          // Since the last Settle.
  bool refused_lately_ ABSL_GUARDED_BY(mu_) = false;  // Since the last Settle.
};

}  // namespace bucketvol
