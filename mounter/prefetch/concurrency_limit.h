#pragma once

#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "mounter/prefetch/link_estimate.h"

namespace bucketvol {

struct ConcurrencySettings {
  uint64_t prefetch_requests_start = 16;
  uint64_t prefetch_requests_max = 256;
  uint64_t prefetch_bytes_start = 256 << 20;
  uint64_t prefetch_bytes_max = uint64_t{2} << 30;
  uint64_t requests_max = 4096;  // Together with what readers wait for.
};

/// Whether somebody waits for a fetch.
enum class Urgency { kDemand, kPrefetch };

enum class FetchOutcome {
  kOk,
  kError,  // Cancelled, too: tells nothing about the link.
};

/// What the service says of the load, in any of its answers.
enum class LoadSignal {
  kTooManyRequests,  // Per second.
  kTooManyBytes,     // Per second.
  kTooManyAtATime,   // Requests that are open.
  kHeldBack,         // It delayed an answer on purpose.
};

/// Measures the way to one endpoint and says how much may be fetched ahead at a time.
///
/// Prefetch has a limit in requests, which matters for small objects, and one in bytes, which matters for
/// large ones. The limit in requests doubles per round trip until the endpoint throttles; it is cut to 0.7
/// then, and grows slowly (by its square root) from there. The limit in bytes grows while throughput does,
/// and is cut to 0.7 when bandwidth is throttled or when nothing is gained although the first bytes take
/// twice as long as they used to, or the service says that it holds answers back. Fetches that readers wait
/// for are never held back below the hard cap, which is lowered only when the service says that too many
/// requests are open: to 0.7 of those, and back by its square root.
///
/// Not thread-safe. Time is passed in and does not go back.
class ConcurrencyLimit {
 public:
  explicit ConcurrencyLimit(const ConcurrencySettings& settings);
  ~ConcurrencyLimit();
  ConcurrencyLimit(ConcurrencyLimit&&) noexcept;
  ConcurrencyLimit& operator=(ConcurrencyLimit&&) noexcept;

  /// Whether a fetch of `bytes` may start now. One prefetch at least always may.
  bool MayStart(Urgency urgency, uint64_t bytes) const;
  /// A fetch starts.
  void OnStart(Urgency urgency, uint64_t bytes);
  /// Its first byte came, `latency` after its start.
  void OnFirstByte(absl::Duration latency);
  /// A prefetch became what somebody waits for: it counts as such from here, and at its end.
  void OnRaised(uint64_t bytes);
  /// It ended. `bytes` as at its start; `received`: how many came; `transfer`: from the first byte to the
  /// end.
  struct End {
    Urgency urgency = Urgency::kDemand;
    uint64_t bytes = 0;
    uint64_t received = 0;
    absl::Duration transfer;
    FetchOutcome outcome = FetchOutcome::kOk;
  };
  void OnDone(const End& end, absl::Duration now);
  /// The service speaks of the load, be it in an answer that is asked for again elsewhere.
  void OnSignal(LoadSignal signal, absl::Duration now);

  LinkEstimate link() const;
  uint64_t prefetch_requests_limit() const;
  uint64_t prefetch_bytes_limit() const;
  uint64_t requests_in_flight() const;
  /// The hard cap.
  uint64_t requests_limit() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bucketvol
