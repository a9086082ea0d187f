#pragma once

#include <memory>

#include "absl/time/time.h"
#include "mounter/base/executor.h"
#include "mounter/session/request_slots.h"

namespace bucketvol {

/// Shows in the slots that the executor which ends late requests still runs. The guard replaces a worker
/// whose beat stands still.
class Heart : public std::enable_shared_from_this<Heart> {
 public:
  static constexpr absl::Duration kInterval = absl::Milliseconds(500);

  /// Beats until the last owner drops it. `slots` must outlive the tasks of `timer`.
  static std::shared_ptr<Heart> Start(RequestSlots& slots, Executor& timer);

 private:
  Heart(RequestSlots& slots, Executor& timer) : slots_(slots), timer_(timer) {}
  void Beat();

  RequestSlots& slots_;
  Executor& timer_;
};

}  // namespace bucketvol
