#include "mounter/cli/order_service.h"

#include <utility>

#include "mounter/prefetch/object_order.h"

namespace bucketvol {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);
constexpr uint64_t kMemoryShare = 32;

}  // namespace

uint64_t OrderService::MostObjects(uint64_t memory_budget) {
  return memory_budget / kMemoryShare / ObjectOrder::kBytesPerObject;
}

OrderService::OrderService(Reader& reader, const ObjectTable& table, OrderKeeper::Settings settings)
    : keeper_(reader, table, std::move(settings)) {
  thread_.emplace("bv-order", 1);
  thread_->Post([this] { keeper_.Begin(); });
  ticker_.emplace(*thread_, kTick, [this] { keeper_.Tick(); });
}

OrderService::~OrderService() {
  thread_.reset();
  keeper_.Tick();
}

}  // namespace bucketvol
