#include "mounter/cli/order_service.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/cli/order_list.h"
#include "mounter/prefetch/object_order.h"

namespace bucketvol {
namespace {

constexpr absl::Duration kTick = absl::Seconds(1);
constexpr uint64_t kMemoryShare = 32;

}  // namespace

uint64_t OrderService::MostObjects(uint64_t memory_budget) {
  return memory_budget / kMemoryShare / ObjectOrder::kBytesPerObject;
}

OrderService::OrderService(Reader& reader, const ObjectTable& table, ObjectStore& store,
                           OrderKeeper::Settings settings, List list)
    : reader_(reader),
      table_(table),
      store_(store),
      most_(settings.most),
      list_(std::move(list)),
      cancellation_(std::make_shared<Cancellation>()),
      keeper_(reader, table, std::move(settings)) {
  thread_.emplace("bv-order", 1);
  thread_->Post([this] { keeper_.Begin(); });
  if (!list_.path.empty()) thread_->Post([this] { FollowList(); });
  ticker_.emplace(*thread_, kTick, [this] { keeper_.Tick(); });
}

OrderService::~OrderService() {
  cancellation_->Cancel();
  thread_.reset();
  keeper_.Tick();
}

void OrderService::FollowList() {
  absl::StatusOr<OrderList> list =
      ReadOrderList(store_, table_, list_.prefix, list_.path, most_, cancellation_);
  if (cancellation_->cancelled()) return;
  if (!list.ok()) {
    return LogWarning("prefetch_order is not followed: ", list.status().message(), ": ",
                      Printable(list_.path));
  }
  const std::string counts = absl::StrCat(list->rows.size(), " of ", list->lines, " lines are followed, ",
                                          list->unknown, " name no file with data, ", list->left_out,
                                          " are more than memory_budget allows: ", Printable(list_.path));
  if (list->rows.size() < list->lines) {
    LogWarning("prefetch_order: ", counts);
  } else {
    LogInfo("prefetch_order: ", counts);
  }
  if (list->rows.empty()) return;
  reader_.FollowOrder(std::make_shared<const ObjectOrder>(std::move(list->rows)), OrderTrust::kAtFirst);
}

}  // namespace bucketvol
