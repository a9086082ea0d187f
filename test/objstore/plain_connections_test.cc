#include "mounter/objstore/plain_connections.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using Outcome = PlainConnection::Outcome;

constexpr auto kAny = [](const PlainConnection&) { return true; };

class BodySink final : public HttpResponseSink {
 public:
  bool OnHead(const HttpResponseHead&) override { return true; }
  bool OnBody(absl::Span<const char> data) override {
    body.append(data.data(), data.size());
    return true;
  }
  void OnDone(absl::Status) override {}
  std::string body;
};

class PlainConnectionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Poller> poller = Poller::Make();
    ASSERT_OK(poller);
    poller_.emplace(*std::move(poller));
    connections_.emplace(*poller_, 2);
    request_.url = "http://h:1/b/k?x=1";
    request_.headers = {{"range", "bytes=0-1"}};
  }

  PlainConnection& Connect(UniqueFd& server, const std::string& authority = "h:1") {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    server = UniqueFd(ends[1]);
    PlainConnection& connection = connections_->Add(UniqueFd(ends[0]), authority, absl::ZeroDuration());
    connection.user = this;
    return connection;
  }

  // One request and its answer.
  Outcome Exchange(PlainConnection& connection, const UniqueFd& server, const std::string& answer) {
    EXPECT_EQ(connection.Send(request_, "agent", &sink_).kind, Outcome::kGoesOn);
    Say(server, answer);
    return connection.Read(absl::MakeSpan(buffer_));
  }
  static void Say(const UniqueFd& server, const std::string& text) {
    EXPECT_EQ(write(server.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::vector<int> Ready() {
    std::vector<int> ready;
    poller_->Wait(absl::ZeroDuration(), [&](const Poller::Event& event) { ready.push_back(event.fd); });
    return ready;
  }

  static constexpr char kAnswer[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  std::optional<Poller> poller_;
  std::optional<PlainConnections> connections_;
  HttpRequest request_;
  BodySink sink_;
  char buffer_[16];  // Smaller than an answer.
};

TEST_F(PlainConnectionsTest, ARequestAndItsAnswer) {
  UniqueFd server;
  PlainConnection& connection = Connect(server);
  EXPECT_EQ(connection.Send(request_, "agent", &sink_).kind, Outcome::kGoesOn);
  EXPECT_EQ(connection.Read(absl::MakeSpan(buffer_)).kind, Outcome::kGoesOn);  // Nothing there yet.
  char text[500];
  const ssize_t size = read(server.get(), text, sizeof(text));
  EXPECT_EQ(
      std::string(text, static_cast<size_t>(size)),
      "GET /b/k?x=1 HTTP/1.1\r\nHost: h:1\r\nUser-Agent: agent\r\nAccept: */*\r\nrange: bytes=0-1\r\n\r\n");
  Say(server, kAnswer);
  EXPECT_EQ(connection.Read(absl::MakeSpan(buffer_)).kind, Outcome::kWhole);
  EXPECT_EQ(sink_.body, "ok");
  EXPECT_TRUE(connection.reusable());
}

TEST_F(PlainConnectionsTest, ARequestGoesOutInPieces) {
  UniqueFd server;
  PlainConnection& connection = Connect(server);
  request_.headers.push_back({"x-large", std::string(1 << 20, 'x')});
  EXPECT_EQ(connection.Send(request_, "agent", &sink_).kind, Outcome::kGoesOn);
  std::string seen;
  std::vector<char> text(1 << 16);
  while (connection.wants_room()) {
    connections_->Watch(connection);
    const ssize_t size = read(server.get(), text.data(), text.size());
    ASSERT_GT(size, 0);
    seen.append(text.data(), static_cast<size_t>(size));
    EXPECT_EQ(connection.Write().kind, Outcome::kGoesOn);
  }
  for (ssize_t size; (size = read(server.get(), text.data(), text.size())) > 0;)
    seen.append(text.data(), static_cast<size_t>(size));
  EXPECT_GT(seen.size(), size_t{1} << 20);
  EXPECT_TRUE(absl::EndsWith(seen, "xx\r\n\r\n"));
}

TEST_F(PlainConnectionsTest, TheLatestIdleConnectionIsTakenFirst) {
  UniqueFd servers[2];
  PlainConnection& first = Connect(servers[0]);
  PlainConnection& second = Connect(servers[1]);
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(1), kAny), nullptr);
  for (PlainConnection* each : {&first, &second}) {
    EXPECT_EQ(Exchange(*each, servers[each == &second], kAnswer).kind, Outcome::kWhole);
    connections_->Keep(*each, absl::Seconds(1));
  }
  EXPECT_EQ(connections_->TakeIdle("h:2", absl::Seconds(1), kAny), nullptr);
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(1), kAny), &second);
  EXPECT_TRUE(second.used_before);
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(1), kAny), &first);
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(1), kAny), nullptr);
}

TEST_F(PlainConnectionsTest, OneThatDoesNotFitStaysIdle) {
  UniqueFd servers[2];
  PlainConnection& first = Connect(servers[0]);
  PlainConnection& second = Connect(servers[1]);
  for (PlainConnection* each : {&first, &second}) {
    Exchange(*each, servers[each == &second], kAnswer);
    connections_->Keep(*each, absl::Seconds(1));
  }
  const auto is_first = [&](const PlainConnection& each) { return &each == &first; };
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(1), is_first), &first);
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(1), is_first), nullptr);
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(1), kAny), &second);
}

TEST_F(PlainConnectionsTest, OneThatIsIdleForLongIsClosed) {
  UniqueFd server;
  PlainConnection& connection = Connect(server);
  Exchange(connection, server, kAnswer);
  connections_->Keep(connection, absl::Seconds(1));
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(200), kAny), nullptr);
  char text[500];
  while (read(server.get(), text, sizeof(text)) > 0) continue;
  EXPECT_EQ(read(server.get(), text, sizeof(text)), 0);
}

TEST_F(PlainConnectionsTest, WhatIsTooManyOrNotReusableIsClosed) {
  UniqueFd servers[4];
  std::vector<PlainConnection*> all;
  for (UniqueFd& server : servers) all.push_back(&Connect(server));
  for (size_t i = 0; i < all.size(); ++i) {
    Exchange(*all[i], servers[i], i == 3 ? "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n" : kAnswer);
    connections_->Keep(*all[i], absl::Seconds(1));
  }
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(1), kAny), all[2]);
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(1), kAny), nullptr);
}

TEST_F(PlainConnectionsTest, AServerThatClosesAnIdleOneIsHeard) {
  UniqueFd server;
  PlainConnection& connection = Connect(server);
  Exchange(connection, server, kAnswer);
  connections_->Keep(connection, absl::Seconds(1));
  EXPECT_TRUE(Ready().empty());
  server.Reset();
  EXPECT_EQ(Ready(), std::vector<int>{connection.fd()});
  connections_->Close(*connections_->Find(connection.fd()));
  EXPECT_EQ(connections_->TakeIdle("h:1", absl::Seconds(1), kAny), nullptr);
}

TEST_F(PlainConnectionsTest, EndsAreTold) {
  UniqueFd server;
  PlainConnection& early = Connect(server);
  early.Send(request_, "agent", &sink_);
  server.Reset();
  const Outcome closed = early.Read(absl::MakeSpan(buffer_));
  EXPECT_EQ(closed.kind, Outcome::kBroken);
  EXPECT_FALSE(early.answered());
  EXPECT_EQ(early.Send(request_, "agent", &sink_).os_error, EPIPE);
  EXPECT_THAT(StatusOf(closed, request_.url),
              testing::StatusIs(absl::StatusCode::kUnavailable,
                                ::testing::HasSubstr("lost the connection to http://h:1")));

  PlainConnection& late = Connect(server);
  Exchange(late, server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
  EXPECT_EQ(shutdown(server.get(), SHUT_WR), 0);
  const Outcome cut = late.Read(absl::MakeSpan(buffer_));
  EXPECT_EQ(cut.kind, Outcome::kCutOff);
  EXPECT_THAT(StatusOf(cut, request_.url), testing::StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
  EXPECT_THAT(StatusOf({Outcome::kUnwanted}, ""),
              testing::StatusIs(absl::StatusCode::kAborted, ::testing::_));
  EXPECT_OK(StatusOf({Outcome::kWhole}, ""));
}

}  // namespace
}  // namespace bucketvol
