#include "test/bucketd/http_client.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace bucketvol::bucketd {

HttpClient::HttpClient(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) abort();
}

HttpAnswer HttpClient::Do(absl::string_view method, absl::string_view target, const HeaderList& headers,
                          absl::string_view body) {
  std::string request = absl::StrCat(method, " ", target, " HTTP/1.1\r\n");
  bool has_host = false;
  for (const auto& [name, value] : headers) {
    absl::StrAppend(&request, name, ": ", value, "\r\n");
    has_host |= absl::EqualsIgnoreCase(name, "host");
  }
  if (!has_host) request += "Host: 127.0.0.1\r\n";
  absl::StrAppend(&request, "Content-Length: ", body.size(), "\r\n\r\n", body);
  Send(request);
  return Receive(method == "HEAD");
}

void HttpClient::Send(absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

bool HttpClient::HasInput() const {
  pollfd poll_fd = {fd_.get(), POLLIN, 0};
  return !input_.empty() || poll(&poll_fd, 1, 0) > 0;
}

bool HttpClient::Fill() {
  char buffer[65536];
  const ssize_t got = recv(fd_.get(), buffer, sizeof(buffer), 0);
  if (got < 0 && errno == ECONNRESET) reset_ = true;
  if (got <= 0) return false;
  input_.append(buffer, static_cast<size_t>(got));
  return true;
}

HttpAnswer HttpClient::Receive(bool without_body) {
  HttpAnswer answer;
  size_t end;
  while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
    if (Fill()) continue;
    answer.reset = reset_;
    return answer;
  }
  const std::vector<std::string> lines = absl::StrSplit(input_.substr(0, end), "\r\n");
  input_.erase(0, end + 4);
  answer.status = atoi(lines[0].c_str() + 9);
  for (size_t i = 1; i < lines.size(); ++i) {
    const size_t colon = lines[i].find(": ");
    answer.headers[absl::AsciiStrToLower(lines[i].substr(0, colon))] = lines[i].substr(colon + 2);
  }
  const bool bodiless = without_body || answer.status == 204 || answer.status == 304;
  const size_t length = bodiless ? 0 : strtoull(answer.Header("content-length").c_str(), nullptr, 10);
  while (input_.size() < length && Fill()) {
  }
  answer.complete = input_.size() >= length;
  answer.reset = reset_;
  answer.body = input_.substr(0, length);
  input_.erase(0, answer.body.size());
  return answer;
}

}  // namespace bucketvol::bucketd
