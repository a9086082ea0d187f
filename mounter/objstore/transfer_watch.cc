#include "mounter/objstore/transfer_watch.h"

#include "absl/strings/str_cat.h"

namespace bucketvol {

std::optional<std::string> TransferWatch::Late(absl::Duration now, const TransferLimits& limits,
                                               absl::Duration total) const {
  if (phase_ == Phase::kWaiting && now - last_ > limits.first_byte) {
    return absl::StrCat("no answer within ", absl::FormatDuration(limits.first_byte));
  }
  if (phase_ == Phase::kReceiving && now - last_ > limits.stall) {
    return absl::StrCat("the answer stalled for ", absl::FormatDuration(limits.stall));
  }
  if (now - begun_ > total) return absl::StrCat("not done within ", absl::FormatDuration(total));
  return std::nullopt;
}

}  // namespace bucketvol
