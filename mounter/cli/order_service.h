#pragma once

#include <cstdint>
#include <optional>

#include "mounter/base/executor.h"
#include "mounter/cli/order_keeper.h"
#include "mounter/cli/ticker.h"
#include "mounter/index/index_file.h"
#include "mounter/reader/reader.h"

namespace bucketvol {

/// Runs an OrderKeeper on a thread of its own, because disks may hang. The destructor waits for it, and has
/// the last touches recorded.
class OrderService {
 public:
  /// Borrows `reader` and `table`.
  OrderService(Reader& reader, const ObjectTable& table, OrderKeeper::Settings settings);
  ~OrderService();

  /// How many objects an order may have where so much memory is for data: what is known of an order takes a
  /// 32nd part as much, beside it.
  static uint64_t MostObjects(uint64_t memory_budget);

 private:
  OrderKeeper keeper_;  // Of the thread, until it has ended.
  std::optional<Ticker> ticker_;
  std::optional<ThreadPool> thread_;
};

}  // namespace bucketvol
