#pragma once

#include <regex.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "test/bucketd/api_request.h"

namespace bucketvol::bucketd {

enum class FaultKind {
  kNone,
  kUnavailable,     // 503: SlowDown.
  kInternalError,   // 500: InternalError.
  kDenied,          // 403: AccessDenied.
  kBandwidth,       // 503: DownloadTrafficRateLimitExceeded (S3: SlowDown).
  kTooManyOpen,     // 503: ActiveRequestLimitExceeded (S3: SlowDown).
  kExpiredToken,    // The dialect's answer to an expired session token.
  kSkewed,          // 403: RequestTimeTooSkewed.
  kTooMany,         // 503 of qps=N.
  kHtml,            // 200 with a page of HTML instead of what was asked for.
  kReset,           // A reset in the middle of the body.
  kTruncate,        // An orderly end in the middle of the body.
  kStall,           // A pause in the middle of the body.
  kSlow,            // A trickle.
  kWrongBytes,      // One flipped bit in every 4 KiB.
  kWrongEtag,       // The ETag of another version.
  kWrongLength,     // A body of half the length, or a Content-Range of another total; in turn.
  kEmptyTruncated,  // The rest: listings only, as ListDamage.
  kRepeatPage,
  kOutOfOrder,
  kBadXml,
  kCutXml,
};

/// What is to happen to one request.
struct Fault {
  FaultKind kind = FaultKind::kNone;
  absl::Duration stall = absl::Seconds(5);
  uint64_t rate = 100'000;  // Bytes per second of kSlow.
  uint64_t occurrence = 0;  // How often the rule had struck before.
};

/// One `--fault`: which requests it is for, how often it strikes, and with what. Thread-safe.
class FaultRule {
 public:
  /// Reads `op=GET,key=REGEX,rate=0.01,kind=503,count=N,qps=N`. A comma ends a field only before another
  /// `word=`, so that a regular expression may hold commas. The expression is POSIX extended and may match
  /// anywhere in the key (for LIST: in the prefix).
  static absl::StatusOr<std::unique_ptr<FaultRule>> Parse(absl::string_view spec);
  ~FaultRule();

  /// The rule's verdict on one request. `now` is any steady time. `seed` makes the chances repeatable: the
  /// n-th request that matches meets the same fate in every run.
  Fault Decide(OperationClass operation_class, absl::string_view key, absl::Duration now, uint64_t seed);

 private:
  FaultRule() = default;
  absl::Status ParseField(absl::string_view word, absl::string_view value);
  absl::Status ParseOperation(absl::string_view value);
  absl::Status ParseRegex(absl::string_view value);
  absl::Status ParseRateField(absl::string_view value);
  absl::Status ParseKind(absl::string_view value);
  absl::Status ParseKindArgument(absl::string_view argument);
  absl::Status Check() const;
  bool MatchesKey(absl::string_view key) const;
  bool ExceedsQps(absl::Duration now);
  bool TakeCount(uint64_t& occurrence);

  std::optional<OperationClass> operation_class_;
  std::optional<regex_t> regex_;
  double rate_ = 1;
  uint64_t count_ = UINT64_MAX;
  uint64_t qps_ = 0;
  Fault fault_;

  std::atomic<uint64_t> matched_{0};
  std::atomic<uint64_t> struck_{0};
  absl::Mutex mu_;  // Leaf.
  int64_t second_ ABSL_GUARDED_BY(mu_) = -1;
  uint64_t in_second_ ABSL_GUARDED_BY(mu_) = 0;
};

/// The first fault that any rule decides on.
Fault DecideFault(const std::vector<std::shared_ptr<FaultRule>>& rules, OperationClass operation_class,
                  absl::string_view key, absl::Duration now, uint64_t seed);

}  // namespace bucketvol::bucketd
