#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "mounter/base/executor.h"
#include "mounter/cli/order_keeper.h"
#include "mounter/cli/ticker.h"
#include "mounter/index/index_file.h"
#include "mounter/objstore/object_store.h"
#include "mounter/reader/reader.h"

namespace bucketvol {

/// Tells the reader of a mount in which orders its objects may be read: that of an earlier epoch, which it
/// also records, and that of a list which the user names.
///
/// Has a thread of its own, because the disk and the service may keep it waiting. The destructor waits for
/// it, and has the last touches recorded.
class OrderService {
 public:
  struct List {
    std::string prefix;  // Of all keys of the mount.
    std::string path;    // Below it, of the object that lists others; empty: none.
  };

  /// Borrows `reader`, `table` and `store`.
  OrderService(Reader& reader, const ObjectTable& table, ObjectStore& store, OrderKeeper::Settings settings,
               List list);
  ~OrderService();

  /// How many objects an order may have where so much memory is for data: what is known of an order takes a
  /// 32nd part as much, beside it.
  static uint64_t MostObjects(uint64_t memory_budget);

 private:
  void FollowList();

  Reader& reader_;
  const ObjectTable& table_;
  ObjectStore& store_;
  const uint64_t most_;
  const List list_;
  const std::shared_ptr<Cancellation> cancellation_;
  OrderKeeper keeper_;  // Of the thread, until it has ended.
  std::optional<Ticker> ticker_;
  std::optional<ThreadPool> thread_;
};

}  // namespace bucketvol
