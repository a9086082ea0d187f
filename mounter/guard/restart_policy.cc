#include "mounter/guard/restart_policy.h"

#include <algorithm>

namespace bucketvol {
namespace {

constexpr int64_t kFirstDelayMs = 100;
constexpr int64_t kLongestDelayMs = 2'000;
constexpr uint32_t kDoublings = 10;  // More than the longest delay has.

}  // namespace

std::optional<int64_t> RestartPolicy::DelayAfter(int64_t served_ms, int64_t now_ms) {
  if (served_ms >= kHealthyMs) failures_ = 0;
  if (served_ms < kHealthyMs && failures_++ == 0) failing_since_ms_ = now_ms;
  if (failures_ <= kAtOnce) return 0;
  if (now_ms - failing_since_ms_ >= patience_ms_) return std::nullopt;
  return std::min(kFirstDelayMs << std::min(failures_ - kAtOnce - 1, kDoublings), kLongestDelayMs);
}

}  // namespace bucketvol
