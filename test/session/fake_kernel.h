#pragma once

#include <linux/fuse.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol::testing {

/// The kernel's end of a FUSE connection, over a packet socket instead of /dev/fuse. One thread at a time.
class FakeKernel {
 public:
  struct Reply {
    uint64_t unique = 0;
    int error = 0;  // Positive errno; 0: none.
    std::string body;

    template <typename Struct>
    Struct As() const {
      Struct value{};
      EXPECT_GE(body.size(), sizeof(value));
      std::memcpy(&value, body.data(), std::min(sizeof(value), body.size()));
      return value;
    }
  };

  FakeKernel() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    kernel_ = UniqueFd(ends[0]);
    session_ = UniqueFd(ends[1]);
  }

  /// The session's end, once for each session.
  UniqueFd SessionEnd() { return UniqueFd(fcntl(session_.get(), F_DUPFD_CLOEXEC, 0)); }
  /// What an unmount does.
  void Unmount() {
    session_.Reset();
    kernel_.Reset();
  }

  /// Sends a request; returns its unique number.
  template <typename Struct>
  uint64_t Send(uint32_t opcode, uint64_t node, const Struct& argument) {
    return SendBytes(opcode, node, {reinterpret_cast<const char*>(&argument), sizeof(argument)});
  }
  uint64_t SendBytes(uint32_t opcode, uint64_t node, const std::string& argument) {
    return SendBytesAs(next_unique_ += 2, opcode, node, argument);
  }
  /// The same with a unique number of the test's choice.
  template <typename Struct>
  uint64_t SendAs(uint64_t unique, uint32_t opcode, uint64_t node, const Struct& argument) {
    return SendBytesAs(unique, opcode, node, {reinterpret_cast<const char*>(&argument), sizeof(argument)});
  }
  uint64_t SendBytesAs(uint64_t unique, uint32_t opcode, uint64_t node, const std::string& argument) {
    fuse_in_header header{};
    header.len = static_cast<uint32_t>(sizeof(header) + argument.size());
    header.opcode = opcode;
    header.unique = unique;
    header.nodeid = node;
    std::string packet(reinterpret_cast<const char*>(&header), sizeof(header));
    packet += argument;
    EXPECT_EQ(send(kernel_.get(), packet.data(), packet.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(packet.size()));
    return header.unique;
  }
  /// The next reply, whichever request it belongs to.
  Reply Receive() {
    std::string packet(2 << 20, '\0');
    const ssize_t got = recv(kernel_.get(), packet.data(), packet.size(), 0);
    fuse_out_header header{};
    EXPECT_GE(got, static_cast<ssize_t>(sizeof(header)));
    std::memcpy(&header, packet.data(), sizeof(header));
    EXPECT_EQ(header.len, got);
    return {header.unique, -header.error,
            packet.substr(sizeof(header), static_cast<size_t>(got) - sizeof(header))};
  }
  /// Whether a reply is there now.
  bool HasReply() {
    char byte;
    return recv(kernel_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
  }
  template <typename Struct>
  Reply Call(uint32_t opcode, uint64_t node, const Struct& argument) {
    const uint64_t unique = Send(opcode, node, argument);
    Reply reply = Receive();
    EXPECT_EQ(reply.unique, unique);
    return reply;
  }

  fuse_init_out Init() {
    fuse_init_in init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = FUSE_KERNEL_MINOR_VERSION;
    init.max_readahead = 1 << 20;
    init.flags = FUSE_ASYNC_READ | FUSE_BIG_WRITES | FUSE_ASYNC_DIO | FUSE_PARALLEL_DIROPS | FUSE_MAX_PAGES |
                 FUSE_AUTO_INVAL_DATA | FUSE_DO_READDIRPLUS | FUSE_SPLICE_READ | FUSE_SPLICE_WRITE;
    return Call(FUSE_INIT, 0, init).As<fuse_init_out>();
  }
  Reply Lookup(const std::string& name, uint64_t parent = FUSE_ROOT_ID) {
    const uint64_t unique = SendBytes(FUSE_LOOKUP, parent, name + '\0');
    Reply reply = Receive();
    EXPECT_EQ(reply.unique, unique);
    return reply;
  }
  uint64_t SendRead(uint64_t node, uint64_t offset, uint32_t size) {
    fuse_read_in read{};
    read.offset = offset;
    read.size = size;
    return Send(FUSE_READ, node, read);
  }

 private:
  UniqueFd kernel_;
  UniqueFd session_;
  uint64_t next_unique_ = 0;
};

}  // namespace bucketvol::testing
