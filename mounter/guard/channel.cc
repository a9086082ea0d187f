#include "mounter/guard/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "mounter/guard/monotonic.h"

namespace bucketvol {
namespace {

constexpr size_t kMaxDescriptors = 16;
constexpr size_t kMaxPacket =
    200 * 1024;  // What fits a socket's default send buffer (net.core.wmem_default).

// A socket address holds 107 bytes of path; a longer one is reached through a descriptor of its directory.
struct ShortPath {
  UniqueFd directory;
  sockaddr_un address{};
};

Outcome<ShortPath> Shorten(const std::string& path) {
  ShortPath out;
  out.address.sun_family = AF_UNIX;
  std::string name = path;
  if (name.size() >= sizeof out.address.sun_path) {
    const size_t slash = path.rfind('/');
    const std::string parent = path.substr(0, slash);
    out.directory = UniqueFd(open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!out.directory.valid()) return SystemFailure(errno, "open " + parent);
    name = "/proc/self/fd/" + std::to_string(out.directory.get()) + path.substr(slash);
  }
  if (name.size() >= sizeof out.address.sun_path) return SystemFailure(ENAMETOOLONG, "socket " + path);
  std::memcpy(out.address.sun_path, name.c_str(), name.size() + 1);
  return out;
}

void TakeDescriptors(msghdr& header, std::vector<UniqueFd>& out) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      out.emplace_back(fd);
    }
  }
}

}  // namespace

Outcome<std::pair<Channel, Channel>> Channel::MakePair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return SystemFailure(errno, "socketpair");
  return std::make_pair(Channel(UniqueFd(ends[0])), Channel(UniqueFd(ends[1])));
}

Outcome<Channel> Channel::Connect(const std::string& path) {
  ASSIGN_OR_FAIL(const ShortPath where, Shorten(path));
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return SystemFailure(errno, "socket");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&where.address), sizeof where.address) != 0) {
    return SystemFailure(errno, "connect to " + path);
  }
  return Channel(std::move(fd));
}

Step Channel::SendFlags(const std::string& packet, const std::vector<int>& descriptors, int flags) const {
  if (packet.size() > kMaxPacket || descriptors.size() > kMaxDescriptors) {
    return SystemFailure(EMSGSIZE, "message of " + std::to_string(packet.size()) + " bytes");
  }
  iovec part{const_cast<char*>(packet.data()), packet.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  if (!descriptors.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size() * sizeof(int));
  }
  while (sendmsg(fd_.get(), &header, flags | MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return SystemFailure(errno, "send");
  }
  return Nothing{};
}

Step Channel::Send(const std::string& packet, const std::vector<int>& descriptors) const {
  return SendFlags(packet, descriptors, MSG_DONTWAIT);
}

Step Channel::SendWaiting(const std::string& packet, const std::vector<int>& descriptors) const {
  return SendFlags(packet, descriptors, 0);
}

Channel::Received Channel::Receive(Message& out) const {
  std::string buffer(kMaxPacket, '\0');
  while (true) {
    iovec part{buffer.data(), buffer.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t got = recvmsg(fd_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::kNothing;
    if (got <= 0) return Received::kClosed;
    out.descriptors.clear();
    TakeDescriptors(header, out.descriptors);
    if (DecodePacket(std::string_view(buffer.data(), static_cast<size_t>(got)), out))
      return Received::kMessage;
  }
}

Channel::Received Channel::ReceiveWaiting(Message& out, int timeout_ms) const {
  const int64_t end = timeout_ms < 0 ? 0 : MonotonicMs() + timeout_ms;
  while (true) {
    const Received received = Receive(out);
    if (received != Received::kNothing) return received;
    int64_t left = -1;
    if (timeout_ms >= 0 && (left = end - MonotonicMs()) <= 0) return Received::kNothing;
    pollfd waiting{fd_.get(), POLLIN, 0};
    poll(&waiting, 1, static_cast<int>(left));
  }
}

Channel::Peer Channel::PeerProcess() const {
  ucred credentials;
  socklen_t size = sizeof credentials;
  if (getsockopt(fd_.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  return {credentials.pid, credentials.uid};
}

Outcome<UniqueFd> ListenAt(const std::string& path) {
  ASSIGN_OR_FAIL(const ShortPath where, Shorten(path));
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return SystemFailure(errno, "socket");
  unlink(path.c_str());
  const mode_t before = umask(0177);
  const int bound = bind(fd.get(), reinterpret_cast<const sockaddr*>(&where.address), sizeof where.address);
  const int error = errno;
  umask(before);
  if (bound != 0) return SystemFailure(error, "make the control socket " + path);
  if (listen(fd.get(), 16) != 0) return SystemFailure(errno, "listen at " + path);
  return fd;
}

}  // namespace bucketvol
