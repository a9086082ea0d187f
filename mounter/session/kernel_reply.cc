#include "mounter/session/kernel_reply.h"

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "mounter/base/errno_status.h"
#include "mounter/base/log.h"

namespace bucketvol {
namespace {

constexpr int kNotifyResend =
    7;  // FUSE_NOTIFY_RESEND, which the kernel headers of Debian 12 do not have yet.

bool WriteError(int fd, uint64_t number, int error) {
  fuse_out_header header{};
  header.len = sizeof header;
  header.error = -error;
  header.unique = number;
  return write(fd, &header, sizeof header) == sizeof header;
}

ssize_t WriteAs(int fd, uint64_t number, const iovec* parts, int count) {
  fuse_out_header header;
  std::memcpy(&header, parts[0].iov_base, sizeof header);
  if (header.unique == number) return writev(fd, parts, count);
  header.unique = number;
  std::vector<iovec> renumbered = {{&header, sizeof header}};
  if (parts[0].iov_len > sizeof header) {
    renumbered.push_back(
        {static_cast<char*>(parts[0].iov_base) + sizeof header, parts[0].iov_len - sizeof header});
  }
  renumbered.insert(renumbered.end(), parts + 1, parts + count);
  return writev(fd, renumbered.data(), static_cast<int>(renumbered.size()));
}

ssize_t SendOnce(int fd, uint64_t number, const iovec* parts, int count) {
  const ssize_t wrote = WriteAs(fd, number, parts, count);
  if (wrote >= 0 || errno == ENOENT) return wrote;
  LogError("cannot answer the kernel: ", ErrnoToStatus(errno, "write to the FUSE descriptor").message());
  WriteError(fd, number, EIO);
  errno = ENOENT;
  return -1;
}

}  // namespace

ssize_t SendReply(RequestJournal& journal, int fd, const iovec* parts, int count) {
  fuse_out_header header;
  std::memcpy(&header, parts[0].iov_base, sizeof header);
  if (header.unique == 0) return writev(fd, parts, count);  // A notification.
  while (true) {
    const uint64_t number = journal.NumberOf(header.unique);
    const ssize_t wrote = SendOnce(fd, number, parts, count);
    // Handed out again while the answer was under way: the kernel knows the request by its new number only.
    if (journal.Settle(number)) return wrote;
  }
}

void SendError(RequestJournal& journal, int fd, uint64_t unique, int error) {
  fuse_out_header header{};
  header.len = sizeof header;
  header.error = -error;
  header.unique = unique;
  const iovec part{&header, sizeof header};
  (void)SendReply(journal, fd, &part, 1);
}

void AskToResend(int fd) { (void)WriteError(fd, 0, -kNotifyResend); }

}  // namespace bucketvol
