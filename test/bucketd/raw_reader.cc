// Measures a bucketd that is running: sends one GET again and again on a number of connections and throws the
// answers away inside the kernel (MSG_TRUNC), so that nearly all of the time is the server's. The server's
// own processor time comes from /proc, which tells what one core of it can do even when reader and server
// share the machine.
//
//   bucketd_raw_reader PORT PID TARGET COUNT CONNECTIONS [KEYS_PER_ANSWER]
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol::bucketd {
namespace {

struct Reader {
  UniqueFd fd;
  uint64_t body_left = 0;
  bool waiting = false;  // For an answer's head.
};

double ProcessSeconds(const std::string& pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  std::getline(file, text);
  const std::vector<std::string> fields = absl::StrSplit(text.substr(text.rfind(')') + 2), ' ');
  return (std::stod(fields.at(11)) + std::stod(fields.at(12))) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

UniqueFd Connect(int port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    perror("connect");
    exit(1);
  }
  return fd;
}

// Reads the head of an answer byte-exactly: peeks, finds its end, takes that much.
void ReadHead(Reader& reader) {
  char head[4096];
  const ssize_t peeked = recv(reader.fd.get(), head, sizeof(head), MSG_PEEK);
  const std::string text(head, static_cast<size_t>(std::max<ssize_t>(peeked, 0)));
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string::npos) return;
  const size_t length = text.find("Content-Length: ");
  if (text.compare(0, 10, "HTTP/1.1 2") != 0 || length == std::string::npos) {
    fprintf(stderr, "unexpected answer: %s\n", text.c_str());
    exit(1);
  }
  if (recv(reader.fd.get(), head, end + 4, 0) != static_cast<ssize_t>(end + 4)) exit(1);
  reader.body_left = strtoull(text.c_str() + length + 16, nullptr, 10);
  reader.waiting = false;
}

uint64_t DropBody(Reader& reader) {
  static char unused[1];
  const ssize_t got = recv(reader.fd.get(), unused, std::min<uint64_t>(reader.body_left, 8 << 20), MSG_TRUNC);
  if (got <= 0) exit(1);
  reader.body_left -= static_cast<uint64_t>(got);
  return static_cast<uint64_t>(got);
}

int Main(int argc, char** argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: bucketd_raw_reader PORT PID TARGET COUNT CONNECTIONS [KEYS_PER_ANSWER]\n");
    return 2;
  }
  const std::string request = absl::StrCat("GET ", argv[3], " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  uint64_t left = strtoull(argv[4], nullptr, 10);
  const uint64_t count = left;
  std::vector<Reader> readers(strtoull(argv[5], nullptr, 10));
  std::vector<pollfd> polls;
  for (Reader& reader : readers) {
    reader.fd = Connect(atoi(argv[1]));
    polls.push_back({reader.fd.get(), POLLIN, 0});
  }
  const double cpu_before = ProcessSeconds(argv[2]);
  const auto start = std::chrono::steady_clock::now();
  uint64_t bytes = 0;
  uint64_t busy = 0;
  const auto ask = [&](Reader& reader) {
    if (left == 0) return;
    --left, ++busy;
    reader.waiting = true;
    if (send(reader.fd.get(), request.data(), request.size(), 0) < 0) exit(1);
  };
  for (Reader& reader : readers) ask(reader);
  while (busy > 0) {
    poll(polls.data(), polls.size(), -1);
    for (size_t i = 0; i < readers.size(); ++i) {
      if (polls[i].revents == 0) continue;
      Reader& reader = readers[i];
      if (reader.waiting) {
        ReadHead(reader);
        if (reader.waiting || reader.body_left > 0) continue;
      } else {
        bytes += DropBody(reader);
      }
      if (reader.body_left > 0) continue;
      --busy;
      ask(reader);
    }
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const double cpu = ProcessSeconds(argv[2]) - cpu_before;
  printf(
      "%.2f s, server CPU %.2f s: %.2f GB/s wall, %.2f GB per server CPU-second, %.0f requests/s, %.0f per "
      "server CPU-second\n",
      wall, cpu, static_cast<double>(bytes) / wall / 1e9, static_cast<double>(bytes) / cpu / 1e9,
      static_cast<double>(count) / wall, static_cast<double>(count) / cpu);
  if (argc > 6) {
    const double keys = static_cast<double>(count) * atof(argv[6]);
    printf("%.2f M keys/s wall, %.2f M keys per server CPU-second\n", keys / wall / 1e6, keys / cpu / 1e6);
  }
  return 0;
}

}  // namespace
}  // namespace bucketvol::bucketd

int main(int argc, char** argv) { return bucketvol::bucketd::Main(argc, argv); }
