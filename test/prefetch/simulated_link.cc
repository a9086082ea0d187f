#include "test/prefetch/simulated_link.h"

#include <algorithm>

namespace bucketvol {

void SimulatedLink::Start(int id, uint64_t bytes, absl::Duration now) {
  transfers_[id] = {bytes, 0, now, now + shape_.first_byte, false};
  wire_bytes_ += bytes;
  ++requests_;
}

std::vector<int> SimulatedLink::Advance(absl::Duration now, absl::Duration step) {
  std::vector<int> moving;
  for (auto& [id, transfer] : transfers_) {
    if (transfer.first_byte < now + step) moving.push_back(id);
  }
  double rate = shape_.connection_bytes_per_second > 0 ? shape_.connection_bytes_per_second : 1e12;
  if (shape_.total_bytes_per_second > 0)
    rate = std::min(rate,
                    shape_.total_bytes_per_second / static_cast<double>(std::max<size_t>(moving.size(), 1)));
  for (const int id : moving) {
    Transfer& transfer = transfers_[id];
    const absl::Duration time = std::min(step, now + step - transfer.first_byte);
    transfer.received =
        std::min(static_cast<double>(transfer.bytes), transfer.received + rate * absl::ToDoubleSeconds(time));
  }
  return moving;
}

}  // namespace bucketvol
