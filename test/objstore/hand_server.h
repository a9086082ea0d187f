#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol::testing {

/// A server on the loopback network that treats each connection as the test says, on a thread of its own.
class HandServer {
 public:
  /// Gives each connection to `serve`, and closes it when that returns. The destructor waits for them all.
  explicit HandServer(std::function<void(HandServer& server, int connection)> serve, int port = 0,
                      uint32_t host = INADDR_LOOPBACK)
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), serve_(std::move(serve)) {
    const int on = 1;
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(host);
    address.sin_port = htons(static_cast<uint16_t>(port));
    socklen_t size = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    if (setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(socket_.get(), generic, size) != 0 || listen(socket_.get(), 512) != 0 ||
        getsockname(socket_.get(), generic, &size) != 0) {
      abort();
    }
    port_ = ntohs(address.sin_port);
    listener_ = std::thread([this] { Listen(); });
  }
  ~HandServer() {
    StopListening();
    listener_.join();
    for (std::thread& each : threads_) each.join();
  }

  int port() const { return port_; }
  int connections() const { return connections_; }
  /// From now on connections are refused.
  void StopListening() { shutdown(socket_.get(), SHUT_RDWR); }

  /// Reads one head; false: the connection has ended.
  static bool ReadHead(int connection) {
    std::string head;
    char byte;
    while (!absl::EndsWith(head, "\r\n\r\n")) {
      if (recv(connection, &byte, 1, 0) != 1) return false;
      head += byte;
    }
    return true;
  }
  /// Takes what comes until the other side closes, and says nothing.
  static void BeSilent(int connection) {
    char byte;
    while (recv(connection, &byte, 1, 0) == 1) continue;
  }
  static void Answer(int connection, absl::string_view body) {
    const std::string text =
        absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
    (void)!send(connection, text.data(), text.size(), MSG_NOSIGNAL);
  }

 private:
  void Listen() {
    while (true) {
      UniqueFd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connection.valid()) return;
      ++connections_;
      threads_.emplace_back([this, fd = std::move(connection)] { serve_(*this, fd.get()); });
    }
  }

  const UniqueFd socket_;
  const std::function<void(HandServer&, int)> serve_;
  int port_ = 0;
  std::atomic<int> connections_{0};
  std::vector<std::thread> threads_;  // Of the listener, until that ends.
  std::thread listener_;
};

}  // namespace bucketvol::testing
