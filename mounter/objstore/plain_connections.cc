#include "mounter/objstore/plain_connections.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/objstore/transfer_failure.h"

namespace bucketvol {
namespace {

// Load balancers and address translators forget silent connections after minutes.
constexpr absl::Duration kLongestIdle = absl::Seconds(118);
// Others get their turn after so many reads.
constexpr int kReadsInARow = 4;

PlainConnection::Outcome OutcomeOf(HttpAnswerReader::State state) {
  using State = HttpAnswerReader::State;
  using Outcome = PlainConnection::Outcome;
  switch (state) {
    case State::kGoesOn:
      return {Outcome::kGoesOn};
    case State::kWhole:
      return {Outcome::kWhole};
    case State::kUnwanted:
      return {Outcome::kUnwanted};
    case State::kNotHttp:
      return {Outcome::kNotHttp};
    case State::kCutOff:
      return {Outcome::kCutOff};
  }
  return {Outcome::kBroken};
}

bool MustWait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

void AppendRequest(const HttpRequest& request, absl::string_view user_agent, std::string& text) {
  const UrlOrigin origin = OriginOf(request.url);
  const absl::string_view target = absl::string_view(request.url).substr(origin.origin.size());
  const absl::string_view slash = absl::StartsWith(target, "/") ? "" : "/";
  absl::StrAppend(&text, HttpMethodName(request.method), " ", slash, target, " HTTP/1.1\r\nHost: ");
  absl::StrAppend(&text, origin.authority, "\r\nUser-Agent: ", user_agent, "\r\nAccept: */*\r\n");
  for (const HttpHeader& header : request.headers)
    absl::StrAppend(&text, header.name, ": ", header.value, "\r\n");
  text += "\r\n";
}

}  // namespace

PlainConnection::Outcome PlainConnection::Send(const HttpRequest& request, absl::string_view user_agent,
                                               HttpResponseSink* sink) {
  reader_.Begin(request.method, sink);
  text_.clear();
  sent_ = 0;
  AppendRequest(request, user_agent, text_);
  return Write();
}

PlainConnection::Outcome PlainConnection::Write() {
  while (wants_room()) {
    const ssize_t sent = send(fd(), text_.data() + sent_, text_.size() - sent_, MSG_NOSIGNAL);
    if (sent < 0) return MustWait(errno) ? Outcome{} : Outcome{Outcome::kBroken, errno};
    sent_ += static_cast<size_t>(sent);
  }
  return {};
}

PlainConnection::Outcome PlainConnection::Read(absl::Span<char> buffer) {
  for (int i = 0; i < kReadsInARow; ++i) {
    const ssize_t got = recv(fd(), buffer.data(), buffer.size(), 0);
    if (got < 0) return MustWait(errno) ? Outcome{} : Outcome{Outcome::kBroken, errno};
    if (got == 0 && !answered()) return {Outcome::kBroken};
    if (got == 0) return OutcomeOf(reader_.TakeEnd());
    const auto size = static_cast<size_t>(got);
    const HttpAnswerReader::State state = reader_.Take(buffer.first(size));
    if (state != HttpAnswerReader::State::kGoesOn) return OutcomeOf(state);
    if (size < buffer.size()) break;  // There was no more.
  }
  return {};
}

absl::Status StatusOf(const PlainConnection::Outcome& outcome, absl::string_view url) {
  using Outcome = PlainConnection::Outcome;
  if (outcome.kind == Outcome::kWhole) return absl::OkStatus();
  if (outcome.kind == Outcome::kUnwanted) return absl::AbortedError(kNotWanted);
  TransferFailure failure;
  failure.url = std::string(url);
  failure.connected = true;
  failure.os_error = outcome.os_error;
  failure.detail = "it was closed before the answer";
  failure.kind = outcome.kind == Outcome::kNotHttp  ? TransferFailure::kNotHttp
                 : outcome.kind == Outcome::kCutOff ? TransferFailure::kCutOff
                                                    : TransferFailure::kBroken;
  return StatusOfFailure(failure);
}

PlainConnections::~PlainConnections() {
  for (const std::unique_ptr<PlainConnection>& connection : by_fd_) {
    if (connection) poller_.Closing(connection->fd());
  }
}

PlainConnection& PlainConnections::Add(UniqueFd fd, std::string authority, absl::Duration now) {
  const auto index = static_cast<size_t>(fd.get());
  if (by_fd_.size() <= index) by_fd_.resize(index + 1);
  poller_.Opened(fd.get());
  by_fd_[index] = std::make_unique<PlainConnection>(std::move(fd), std::move(authority), now);
  ++count_;
  return *by_fd_[index];
}

PlainConnection* PlainConnections::TakeIdle(absl::string_view authority, absl::Duration now, Fits fits) {
  const auto found = idle_.find(authority);
  if (found == idle_.end()) return nullptr;
  std::vector<PlainConnection*>& idle = found->second;
  while (!idle.empty() && now - idle.front()->idle_since > kLongestIdle) Close(*idle.front());
  const auto latest =
      std::find_if(idle.rbegin(), idle.rend(), [&](const PlainConnection* each) { return fits(*each); });
  if (latest == idle.rend()) return nullptr;
  PlainConnection* const taken = *latest;
  idle.erase(std::next(latest).base());
  return taken;
}

PlainConnection* PlainConnections::Find(int fd) const {
  const auto index = static_cast<size_t>(fd);
  return index < by_fd_.size() ? by_fd_[index].get() : nullptr;
}

void PlainConnections::Watch(const PlainConnection& connection) {
  poller_.Watch(connection.fd(), {.read = true, .write = connection.wants_room()});
}

void PlainConnections::Keep(PlainConnection& connection, absl::Duration now) {
  if (count_ > most_ || !connection.reusable()) return Close(connection);
  connection.user = nullptr;
  connection.used_before = true;
  connection.idle_since = now;
  idle_[connection.authority()].push_back(&connection);
  Watch(connection);
}

void PlainConnections::Close(PlainConnection& connection) {
  if (connection.user == nullptr) {
    std::vector<PlainConnection*>& idle = idle_[connection.authority()];
    idle.erase(std::remove(idle.begin(), idle.end(), &connection), idle.end());
  }
  poller_.Closing(connection.fd());
  --count_;
  by_fd_[static_cast<size_t>(connection.fd())].reset();
}

}  // namespace bucketvol
