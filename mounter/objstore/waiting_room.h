#pragma once

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "mounter/base/executor.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// Holds requests back for a while: until their time has come, their Cancellation fires, or the room closes.
///
/// Thread-safe. No lock is held while a continuation runs.
class WaitingRoom {
 public:
  /// Runs once: OK when the time has come, else Cancelled.
  using Then = absl::AnyInvocable<void(absl::Status) &&>;

  /// `executor` outlives the room and runs the continuations.
  explicit WaitingRoom(Executor& executor);
  ~WaitingRoom();

  /// `cancellation` may be null. In a closed room `then` runs at once with Cancelled, in this call.
  void Wait(absl::Duration delay, const std::shared_ptr<Cancellation>& cancellation, Then then);

  /// Ends every wait with Cancelled, in this call.
  void Close();

 private:
  struct State;
  const std::shared_ptr<State> state_;  // Shared with tasks of the executor, which may run late.
};

}  // namespace bucketvol
