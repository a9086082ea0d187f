#pragma once

#include <sys/uio.h>

#include <string>

#include "absl/strings/string_view.h"
#include "mounter/session/request_slots.h"

namespace bucketvol {

// The INIT exchange of a connection: it comes once, and every later session must know what was agreed.

/// Keeps request and reply with the slots. `reply`: all of it, before it is sent.
void RecordInit(RequestSlots& slots, absl::string_view request, absl::string_view reply);

/// The request of an exchange that was recorded; empty when there was none.
std::string RecordedInit(const RequestSlots& slots);

/// Whether the kernel that sent an INIT request hands out unanswered requests again when asked (Linux 6.9).
bool CanResend(absl::string_view init_request);

/// Sets the longest write in an INIT reply that is about to be sent as `parts`, and returns all its bytes.
std::string LimitWrites(const iovec* parts, int count, uint32_t max_write);

}  // namespace bucketvol
