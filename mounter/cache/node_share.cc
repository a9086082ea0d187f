#include "mounter/cache/node_share.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace bucketvol {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

uint64_t RoundUp(uint64_t bytes) {
  return (bytes + NodeShare::kStepBytes - 1) / NodeShare::kStepBytes * NodeShare::kStepBytes;
}

}  // namespace

NodeShare::NodeShare(NodeLedger& ledger, const NodeShareSettings& settings)
    : ledger_(ledger), settings_(settings), place_(ledger.Take(settings.scope, settings.claim)) {}

NodeShare::~NodeShare() { ledger_.GiveBack(place_); }

uint64_t NodeShare::FairShare(const NodeLedger::Totals& totals) const {
  const uint64_t left =
      settings_.total_bytes > totals.firm_bytes ? settings_.total_bytes - totals.firm_bytes : 0;
  const uint64_t fair = left / std::max<uint64_t>(totals.sharers, 1) / kStepBytes * kStepBytes;
  return std::max(fair, settings_.floor_bytes);
}

// Whoever died may have left what is missing: worth a look, but not at every block.
bool NodeShare::Grow(uint64_t bytes) {
  bytes = RoundUp(bytes);
  {
    absl::MutexLock lock(&mu_);
    if (GrowLocked(bytes)) return true;
    if (std::exchange(reaped_, true)) return false;
  }
  ledger_.Reap();
  absl::MutexLock lock(&mu_);
  return GrowLocked(bytes);
}

// Published first and looked at then: of two that do so at once the later one sees both.
bool NodeShare::GrowLocked(uint64_t bytes) {
  if (bytes <= granted()) return true;
  const uint64_t before = published_;
  PublishLocked(std::max(before, bytes));
  if (settings_.claim == NodeLedger::Claim::kFirm || bytes <= settings_.floor_bytes) {
    granted_ = bytes;
    return true;
  }
  const NodeLedger::Totals totals = ledger_.Look(settings_.scope, place_);
  const uint64_t fair = FairShare(totals);
  const uint64_t together = totals.bytes - published_ + bytes;
  if (place_.number && together <= settings_.total_bytes && (!totals.wanted || bytes <= fair)) {
    granted_ = bytes;
    return true;
  }
  PublishLocked(before);
  RefuseLocked(bytes, fair);
  return false;
}

void NodeShare::PublishLocked(uint64_t bytes) {
  published_ = bytes;
  ledger_.SetBytes(place_, bytes);
}

void NodeShare::RefuseLocked(uint64_t bytes, uint64_t fair) {
  refused_lately_ = true;
  refused_ = true;
  if (bytes <= fair) ledger_.SetWant(place_, NodeLedger::Want::kFairShare);
}

uint64_t NodeShare::MostToKeep() {
  if (settings_.claim == NodeLedger::Claim::kFirm) return kNoLimit;
  absl::MutexLock lock(&mu_);
  const NodeLedger::Totals totals = ledger_.Look(settings_.scope, place_);
  if (totals.wanted) return FairShare(totals);
  if (totals.bytes <= settings_.total_bytes || totals.bytes <= published_) return kNoLimit;
  const uint64_t excess = totals.bytes - settings_.total_bytes;
  return std::max(FairShare(totals), published_ - std::min(published_, excess));
}

// What is held beyond the grant counts, but is not granted by that.
void NodeShare::Settle(uint64_t held) {
  held = RoundUp(held);
  bool idle;
  {
    absl::MutexLock lock(&mu_);
    granted_ = std::min(granted(), held);
    idle = published_ == 0 && held == 0;
    if (held != published_) PublishLocked(held);
    if (!std::exchange(refused_lately_, false)) {
      refused_ = false;
      ledger_.SetWant(place_, NodeLedger::Want::kNothing);
    }
    reaped_ = false;
  }
  if (!idle) ledger_.Reap();
}

uint64_t NodeShare::used_by_all() {
  ledger_.Reap();
  return ledger_.Look(settings_.scope, place_).bytes;
}

}  // namespace bucketvol
