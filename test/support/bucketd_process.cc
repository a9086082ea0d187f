#include "test/support/bucketd_process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol::testing {
namespace {

[[noreturn]] void Die(absl::string_view what, absl::string_view detail) {
  fprintf(stderr, "BucketdProcess: %s: %s\n", std::string(what).c_str(), std::string(detail).c_str());
  abort();
}

std::vector<std::string> CommandLine(const std::vector<std::string>& arguments) {
  const char* directory = getenv("BUCKETVOL_BIN");
  if (directory == nullptr) Die("BUCKETVOL_BIN is not set", "run this through ctest, or set it to build/bin");
  std::vector<std::string> line = {absl::StrCat(directory, "/bucketd"), "--listen", "127.0.0.1:0"};
  line.insert(line.end(), arguments.begin(), arguments.end());
  return line;
}

int Spawn(const std::vector<std::string>& line, int output) {
  std::vector<char*> argv;
  for (const std::string& word : line) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const int pid = fork();
  if (pid != 0) return pid;
  dup2(output, STDOUT_FILENO);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execv(argv[0], argv.data());
  fprintf(stderr, "cannot run %s: %s\n", argv[0], strerror(errno));
  _exit(127);
}

std::string ReadLine(int fd) {
  std::string line;
  char c;
  while (read(fd, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

UniqueFd Connect(const std::string& host, int port) {  // An IPv4 address.
  UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, host.c_str(), &address.sin_addr);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    Die("cannot connect to bucketd", strerror(errno));
  }
  return fd;
}

std::string Exchange(int fd, absl::string_view request) {
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return "";
  std::string answer;
  char buffer[65536];
  for (ssize_t got; (got = recv(fd, buffer, sizeof(buffer), 0)) > 0;)
    answer.append(buffer, static_cast<size_t>(got));
  return answer;
}

std::string ExchangeTls(int fd, absl::string_view request) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<SSL, void (*)(SSL*)> ssl(SSL_new(context.get()), SSL_free);
  SSL_set_fd(ssl.get(), fd);
  if (SSL_connect(ssl.get()) != 1) return "";
  SSL_write(ssl.get(), request.data(), static_cast<int>(request.size()));
  std::string answer;
  char buffer[65536];
  for (int got; (got = SSL_read(ssl.get(), buffer, sizeof(buffer))) > 0;)
    answer.append(buffer, static_cast<size_t>(got));
  return answer;
}

}  // namespace

BucketdProcess::BucketdProcess(const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) Die("cannot make a pipe", strerror(errno));
  pid_ = Spawn(CommandLine(arguments), ends[1]);
  close(ends[1]);
  output_ = ends[0];
  const std::string line = ReadLine(output_);
  absl::string_view url = line;
  if (!absl::ConsumePrefix(&url, "bucketd: listening on ")) Die("the server did not start", line);
  url_ = std::string(url);
  tls_ = url_.rfind("https:", 0) == 0;
  const size_t host = url.find("//") + 2, colon = url.rfind(':');
  host_ = std::string(url.substr(host, colon - host));
  if (!absl::SimpleAtoi(url.substr(colon + 1), &port_)) Die("no port in", line);
}

BucketdProcess::~BucketdProcess() {
  Stop(SIGTERM);
  close(output_);
}

void BucketdProcess::Stop(int signal) {
  if (pid_ <= 0) return;
  kill(pid_, signal);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

std::string BucketdProcess::Call(absl::string_view method, absl::string_view target,
                                 absl::string_view body) const {
  const UniqueFd fd = Connect(host_, port_);
  const std::string request =
      absl::StrCat(method, " ", target, " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n",
                   "Content-Length: ", body.size(), "\r\n\r\n", body);
  const std::string answer = tls_ ? ExchangeTls(fd.get(), request) : Exchange(fd.get(), request);
  const size_t head_end = answer.find("\r\n\r\n");
  if (head_end == std::string::npos || answer.rfind("HTTP/1.1 200", 0) != 0) Die(target, answer);
  return answer.substr(head_end + 4);
}

std::string BucketdProcess::Stats() const { return Call("GET", "/-/stats", ""); }

int64_t BucketdProcess::Count(absl::string_view name) const {
  const std::string stats = Stats();
  const std::string field = absl::StrCat("\"", name, "\":");
  const size_t at = stats.find(field);
  if (at == std::string::npos) Die("no such counter", name);
  return strtoll(stats.c_str() + at + field.size(), nullptr, 10);
}

void BucketdProcess::Reset() const { Call("POST", "/-/reset", ""); }

std::string BucketdProcess::Log(int count) const { return Call("GET", absl::StrCat("/-/log?n=", count), ""); }

void BucketdProcess::Config(absl::string_view lines) const { Call("POST", "/-/config", lines); }

}  // namespace bucketvol::testing
