#pragma once

#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"
#include "mounter/cli/console.h"
#include "mounter/guard/channel.h"

namespace bucketvol {

/// Shows what a guard tells on `channel` until it gives a result; that is returned as it is. Interrupted: the
/// user wants no more. Unavailable: the guard has closed the channel. DeadlineExceeded: it said nothing for
/// `limit_ms` (-1: no limit).
absl::StatusOr<Message> AwaitResult(const Channel& channel, const UniqueFd& interrupts, int limit_ms,
                                    Console& console);

}  // namespace bucketvol
