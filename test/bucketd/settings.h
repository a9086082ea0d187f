#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/secret.h"
#include "test/bucketd/fault.h"
#include "test/bucketd/service_error.h"

namespace bucketvol::bucketd {

/// How slow the service is.
struct Profile {
  absl::Duration first_byte = absl::ZeroDuration();
  uint64_t per_connection = 0;  // Bytes per second; 0: no cap.
  absl::Duration list_page = absl::ZeroDuration();
  bool tail = false;  // 1 % of the requests take ten times as long, 0.1 % of those that are no listings stall
                      // for 5 s.
};

struct Credentials {
  std::string access_key;  // Empty: anonymous requests are accepted, signatures are not looked at.
  Secret secret_key;
  Secret session_token;  // Not empty: every signed request must carry it.
};

/// Everything that POST /-/config can change while requests run. Immutable once published.
struct Settings {
  Profile profile;
  uint64_t total_rate = 0;
  std::vector<std::shared_ptr<FaultRule>> faults;
  Credentials credentials;
  std::string region;                                  // Empty: any region is accepted.
  std::optional<Dialect> dialect;                      // Forced; else each request tells.
  absl::Duration clock_offset = absl::ZeroDuration();  // Added to the server's clock.
  uint64_t seed = 1;
};

/// Sets one flag by its name without dashes: profile, first-byte, per-connection, total, list-page, fault
/// ("none" takes all away), access-key, secret-key, session-token, region, dialect, clock-offset, seed.
/// NotFound for another name.
absl::Status ApplySetting(absl::string_view flag, absl::string_view value, Settings& settings);

/// Applies lines of `flag=value`; all or, on an error, none of them.
absl::Status ApplyLines(absl::string_view lines, Settings& settings);

/// Hands out the present settings. Thread-safe; a reader pays for a lock only after a change.
class LiveSettings {
 public:
  /// `workers`: how many threads call Get.
  LiveSettings(Settings settings, int workers);

  /// The settings as they are now, good until the worker's next Get.
  const Settings& Get(int worker);
  absl::Status Apply(absl::string_view lines);
  uint64_t total_rate() const { return total_rate_.load(std::memory_order_relaxed); }

 private:
  struct alignas(64) Cached {
    std::shared_ptr<const Settings> settings;
    uint64_t generation = 0;
  };

  std::vector<Cached> cached_;  // One per worker, touched by it alone.
  std::atomic<uint64_t> generation_{1};
  std::atomic<uint64_t> total_rate_;
  absl::Mutex mu_;  // Leaf.
  std::shared_ptr<const Settings> current_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol::bucketd
