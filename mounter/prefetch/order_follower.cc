#include "mounter/prefetch/order_follower.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace bucketvol {

namespace {

// Workers that take batches in turn are apart by as many objects, and were so when they were recorded.
constexpr uint64_t kReordered = 1024;

FileSequenceSettings SettingsOf(const ObjectOrder& order, OrderTrust trust) {
  FileSequenceSettings settings{.objects = order.ordinals().size()};
  settings.first_ahead = 8;
  settings.reordered = std::min(settings.objects / 16, kReordered);
  if (trust == OrderTrust::kAtFirst) settings.deciding_touches = 1;
  return settings;
}

}  // namespace

OrderFollower::OrderFollower(std::shared_ptr<const ObjectOrder> order, OrderTrust trust)
    : order_(std::move(order)),
      match_(order_->ordinals().size(), trust),
      sequence_(SettingsOf(*order_, trust)) {}

bool OrderFollower::OnTouch(uint64_t ordinal, Stall stall, absl::Duration now, std::vector<uint64_t>& ahead) {
  const std::optional<uint64_t> position = order_->PositionOf(ordinal);
  if (!match_.Note(position) || !position) return false;
  for (const OrdinalRange& range : sequence_.OnOpen(*position, stall, now)) {
    for (uint64_t i = 0; i < range.count; ++i) ahead.push_back(order_->ordinals()[range.first + i]);
  }
  return true;
}

}  // namespace bucketvol
