#include "test/prefetch/simulated_link.h"

#include <algorithm>
#include <utility>

namespace bucketvol {

// First bytes take from 90 to 110 % of their time: in lockstep, transfers would leave the link idle together.
void SimulatedLink::Start(int id, uint64_t bytes, absl::Duration now) {
  const double factor =
      0.9 + 0.2 * static_cast<double>(static_cast<unsigned>(id) * 2654435761U % 1024) / 1024;
  const double slow = id % 100 == 99 ? shape_.slow_factor : 1;
  transfers_[id] = {bytes, 0, now, now + shape_.first_byte * factor * slow, false};
  wire_bytes_ += bytes;
  ++requests_;
}

// Fills the most modest first: what one cannot take is left to the others.
std::vector<int> SimulatedLink::Advance(absl::Duration now, absl::Duration step) {
  std::vector<std::pair<double, int>> wanted;
  for (const auto& [id, transfer] : transfers_) {
    if (transfer.first_byte >= now + step) continue;
    const double time = absl::ToDoubleSeconds(std::min(step, now + step - transfer.first_byte));
    const double rest = static_cast<double>(transfer.bytes) - transfer.received;
    const double rate = shape_.connection_bytes_per_second;
    wanted.emplace_back(rate > 0 ? std::min(rest, rate * time) : rest, id);
  }
  std::sort(wanted.begin(), wanted.end());
  double left =
      shape_.total_bytes_per_second > 0 ? shape_.total_bytes_per_second * absl::ToDoubleSeconds(step) : 1e18;
  std::vector<int> moving;
  for (size_t i = 0; i < wanted.size(); ++i) {
    Transfer& transfer = transfers_[wanted[i].second];
    const double share = std::min(wanted[i].first, left / static_cast<double>(wanted.size() - i));
    left -= share;
    transfer.received += share;
    if (static_cast<double>(transfer.bytes) - transfer.received < 0.5)
      transfer.received = static_cast<double>(transfer.bytes);
    moving.push_back(wanted[i].second);
  }
  return moving;
}

}  // namespace bucketvol
