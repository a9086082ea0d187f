#include "mounter/cli/exit_code.h"

#include "absl/strings/cord.h"

namespace bucketvol {
namespace {

constexpr char kUsage[] = "bucketvol/usage";
constexpr char kInterrupted[] = "bucketvol/interrupted";

}  // namespace

absl::Status UsageError(absl::string_view message) {
  return AsUsageError(absl::InvalidArgumentError(message));
}

absl::Status AsUsageError(const absl::Status& status) {
  absl::Status marked = status;
  if (!marked.ok()) marked.SetPayload(kUsage, absl::Cord());
  return marked;
}

absl::Status InterruptedError(absl::string_view message) {
  absl::Status status = absl::CancelledError(message);
  status.SetPayload(kInterrupted, absl::Cord());
  return status;
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return kExitDone;
  if (status.GetPayload(kUsage).has_value()) return kExitUsage;
  return status.GetPayload(kInterrupted).has_value() ? kExitInterrupted : kExitFailed;
}

}  // namespace bucketvol
