#pragma once

#include <functional>
#include <utility>

#include "absl/time/time.h"
#include "mounter/base/executor.h"

namespace bucketvol {

/// Runs an action again and again on an executor, as long as the executor lives: it must end first.
class Ticker {
 public:
  Ticker(Executor& executor, absl::Duration period, std::function<void()> action)
      : executor_(executor), period_(period), action_(std::move(action)) {
    Arm();
  }

 private:
  void Arm() {
    executor_.PostAfter(period_, [this] {
      action_();
      Arm();
    });
  }

  Executor& executor_;
  const absl::Duration period_;
  const std::function<void()> action_;
};

}  // namespace bucketvol
