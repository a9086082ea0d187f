#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>

#include "mounter/session/request_journal.h"

namespace bucketvol {

/// Sends a reply, beginning with a fuse_out_header, and settles its request. A reply that the kernel refuses
/// for another reason than that nobody waits for it any more is replaced by EIO: nobody may wait for ever.
/// Returns what writev does; the one error is ENOENT, which libfuse takes in silence.
ssize_t SendReply(RequestJournal& journal, int fd, const iovec* parts, int count);

/// Answers a request with an error and settles it.
void SendError(RequestJournal& journal, int fd, uint64_t unique, int error);

/// Asks the kernel to hand out again every request that was read and not answered (Linux 6.9).
void AskToResend(int fd);

}  // namespace bucketvol
