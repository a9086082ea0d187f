// Measures a bucketd that is running: sends one GET again and again on a number of connections, reads the
// answers as fast as they come, and prints one line of JSON. The server's own processor time comes from
// /proc, which tells what one core of it can do even when reader and server share the machine.
//
//   bucketd_raw_reader PORT PID TARGET COUNT CONNECTIONS [copy]
//
// Without `copy` bodies are thrown away inside the kernel (MSG_TRUNC), so that nearly all of the time is the
// server's; with it they are received as by any client.
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol::bucketd {
namespace {

constexpr size_t kBufferBytes = 256 * 1024;
constexpr int kEvents = 256;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double ProcessSeconds(const std::string& pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/stat"));
  std::string text;
  std::getline(file, text);
  const std::vector<std::string> fields = absl::StrSplit(text.substr(text.rfind(')') + 2), ' ');
  return (std::stod(fields.at(11)) + std::stod(fields.at(12))) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double OwnSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

[[noreturn]] void Die(const char* what) {
  perror(what);
  exit(1);
}

UniqueFd Connect(int port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) Die("connect");
  return fd;
}

/// One connection and the answer that is on its way.
struct Reader {
  UniqueFd fd;
  uint64_t body_left = 0;
  bool waiting = false;  // For an answer's head.
  double asked = 0;
  double answered = 0;  // When the head came.
};

double Median(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Measurement {
 public:
  Measurement(int port, absl::string_view target, uint64_t count, size_t connections, bool copy)
      : request_(absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: localhost\r\n\r\n")),
        left_(count),
        flags_(copy ? MSG_DONTWAIT : MSG_DONTWAIT | MSG_TRUNC),
        epoll_(epoll_create1(0)),
        readers_(connections) {
    for (size_t i = 0; i < connections; ++i) {
      readers_[i].fd = Connect(port);
      epoll_event event = {.events = EPOLLIN, .data = {.u64 = i}};
      epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, readers_[i].fd.get(), &event);
    }
  }

  void Run() {
    begin_ = Seconds();
    for (Reader& reader : readers_) Ask(reader);
    epoll_event events[kEvents];
    while (busy_ > 0) {
      const int ready = epoll_wait(epoll_.get(), events, kEvents, -1);
      for (int i = 0; i < ready; ++i) Serve(readers_[events[i].data.u64]);
    }
    end_ = Seconds();
  }

  std::string ToJson(double server_cpu) {
    const double seconds = end_ - begin_;
    const double slowest = rates_.empty() ? 0 : *std::min_element(rates_.begin(), rates_.end());
    const double fastest = rates_.empty() ? 0 : *std::max_element(rates_.begin(), rates_.end());
    return absl::StrCat("{\"seconds\":", seconds, ",\"bytes\":", bytes_, ",\"requests\":", answers_,
                        ",\"bytes_per_second\":", static_cast<double>(bytes_) / seconds,
                        ",\"requests_per_second\":", static_cast<double>(answers_) / seconds,
                        ",\"server_cpu\":", server_cpu, ",\"reader_cpu\":", OwnSeconds(),
                        ",\"answer_bytes_per_second\":{\"min\":", slowest, ",\"median\":", Median(rates_),
                        ",\"max\":", fastest, "},\"first_byte_ms\":", Median(first_bytes_) * 1e3,
                        ",\"answer_ms\":", Median(answer_times_) * 1e3, "}");
  }

 private:
  void Ask(Reader& reader) {
    if (left_ == 0) return;
    --left_, ++busy_;
    reader.waiting = true;
    reader.asked = Seconds();
    if (send(reader.fd.get(), request_.data(), request_.size(), 0) < 0) Die("send");
  }

  void Serve(Reader& reader) {
    if (reader.waiting && !ReadHead(reader)) return;
    if (reader.body_left > 0) DropBody(reader);
    if (reader.body_left > 0) return;
    Note(reader);
    --busy_;
    Ask(reader);
  }

  // Reads the head of an answer byte-exactly: peeks, finds its end, takes that much.
  bool ReadHead(Reader& reader) {
    char head[4096];
    const ssize_t peeked = recv(reader.fd.get(), head, sizeof(head), MSG_PEEK);
    const absl::string_view text(head, static_cast<size_t>(std::max<ssize_t>(peeked, 0)));
    const size_t end = text.find("\r\n\r\n");
    if (end == absl::string_view::npos) return false;
    const size_t length = text.find("Content-Length: ");
    if (text.substr(0, 10) != "HTTP/1.1 2" || length == absl::string_view::npos) {
      fprintf(stderr, "unexpected answer: %s\n", std::string(text.substr(0, end)).c_str());
      exit(1);
    }
    reader.body_left = strtoull(head + length + 16, nullptr, 10);
    reader.waiting = false;
    reader.answered = Seconds();
    body_bytes_ = reader.body_left;
    if (recv(reader.fd.get(), head, end + 4, 0) != static_cast<ssize_t>(end + 4)) Die("recv");
    return true;
  }

  void DropBody(Reader& reader) {
    const size_t most = (flags_ & MSG_TRUNC) != 0 ? 8 << 20 : kBufferBytes;
    const ssize_t got =
        recv(reader.fd.get(), buffer_.data(), std::min<uint64_t>(reader.body_left, most), flags_);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) Die("recv");
    reader.body_left -= static_cast<uint64_t>(got);
    bytes_ += static_cast<uint64_t>(got);
  }

  void Note(const Reader& reader) {
    const double now = Seconds();
    ++answers_;
    rates_.push_back(static_cast<double>(body_bytes_) / std::max(now - reader.answered, 1e-9));
    first_bytes_.push_back(reader.answered - reader.asked);
    answer_times_.push_back(now - reader.asked);
  }

  const std::string request_;
  uint64_t left_;
  const int flags_;
  const UniqueFd epoll_;
  std::vector<Reader> readers_;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
  uint64_t busy_ = 0;
  uint64_t bytes_ = 0;
  uint64_t answers_ = 0;
  uint64_t body_bytes_ = 0;  // Of each answer.
  double begin_ = 0;
  double end_ = 0;
  std::vector<double> rates_;         // Of each answer, from its head to its end.
  std::vector<double> first_bytes_;   // Seconds from question to head.
  std::vector<double> answer_times_;  // Seconds from question to end.
};

int Main(int argc, char** argv) {
  if (argc < 6) {
    fprintf(stderr, "usage: bucketd_raw_reader PORT PID TARGET COUNT CONNECTIONS [copy]\n");
    return 2;
  }
  const bool copy = argc > 6 && strcmp(argv[6], "copy") == 0;
  Measurement measurement(atoi(argv[1]), argv[3], strtoull(argv[4], nullptr, 10),
                          strtoull(argv[5], nullptr, 10), copy);
  const double cpu = ProcessSeconds(argv[2]);
  measurement.Run();
  printf("%s\n", measurement.ToJson(ProcessSeconds(argv[2]) - cpu).c_str());
  return 0;
}

}  // namespace
}  // namespace bucketvol::bucketd

int main(int argc, char** argv) { return bucketvol::bucketd::Main(argc, argv); }
