#pragma once

#include <cstdint>

namespace bucketvol {

/// What an answer says of the load that a service, or the way to it, bears.
enum class Congestion : uint8_t {
  kNone,
  kRequestRate,     // Too many requests per second. The store itself sends fewer from then on.
  kBandwidth,       // Too many bytes per second: fewer transfers at a time help.
  kActiveRequests,  // Too many requests at a time: their number was above what the account may have open.
  kHeldBack,        // The answer was delayed by the service on purpose; the request itself was served.
  kServerTrouble,   // 5xx without a reason, a reset, no connection: not for the load, as far as one can tell.
};
inline constexpr int kCongestions = 6;

/// Hears of congestion as it shows.
///
/// Thread-safe. Called by threads of the store, without locks, once for each answer that tells of it: must
/// not block and must not call the store.
class CongestionObserver {
 public:
  virtual ~CongestionObserver() = default;
  virtual void OnCongestion(Congestion kind) = 0;
};

}  // namespace bucketvol
