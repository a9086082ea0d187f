#pragma once

#include <optional>
#include <string>

#include "absl/time/time.h"

namespace bucketvol {

struct TransferLimits {
  absl::Duration connect;  // The transport's library keeps this one.
  absl::Duration first_byte;
  absl::Duration stall;
};

/// Watches the progress of one HTTP transfer. Times are those of Clock::Elapsed. Not thread-safe.
class TransferWatch {
 public:
  void Begin(absl::Duration now) {
    begun_ = last_ = now;
    phase_ = Phase::kConnecting;
  }
  /// It begins anew with a connection; the limit for the whole goes on.
  void Reconnect(absl::Duration now) {
    last_ = now;
    phase_ = Phase::kConnecting;
  }
  /// The connection stands and the request goes out.
  void Connected(absl::Duration now) {
    last_ = now;
    phase_ = Phase::kWaiting;
  }
  /// A byte of the answer came.
  void Received(absl::Duration now) {
    last_ = now;
    phase_ = Phase::kReceiving;
  }
  bool connected() const { return phase_ != Phase::kConnecting; }
  /// Since when nothing has come.
  absl::Duration silent_since() const { return last_; }

  /// Says which limit is passed, or nullopt. `total` is for the whole transfer.
  std::optional<std::string> Late(absl::Duration now, const TransferLimits& limits,
                                  absl::Duration total) const;

 private:
  enum class Phase { kConnecting, kWaiting, kReceiving } phase_ = Phase::kConnecting;
  absl::Duration begun_;
  absl::Duration last_;
};

}  // namespace bucketvol
