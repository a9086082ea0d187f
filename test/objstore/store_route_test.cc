// The ways to a service: wrong endpoints, IPv6, proxies, TLS.

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "test/objstore/hand_server.h"
#include "test/objstore/store_fixture.h"
#include "test/objstore/synthetic_bucket.h"
#include "test/objstore/tls_files.h"
#include "test/support/bucketd_process.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::AllOf;
using testing::BlockingStore;
using testing::BucketdProcess;
using testing::Expected;
using testing::FirstKey;
using testing::HandServer;
using ::testing::HasSubstr;
using testing::kSpec;
using ::testing::Not;
using testing::OneAttempt;
using testing::RecordingSink;
using testing::SettingsFor;
using testing::StatusIs;
using testing::TestKeys;
using testing::TlsFiles;

TEST(StoreRouteTest, AMissingBucketIsNamed) {
  BucketdProcess server({"--synthetic", kSpec});
  StoreSettings settings = SettingsFor(server.url());
  settings.bucket = "absent";
  BlockingStore store(settings);
  EXPECT_THAT(store.List(), StatusIs(absl::StatusCode::kNotFound,
                                     AllOf(HasSubstr("oss://absent"), HasSubstr("NoSuchBucket"))));
}

TEST(StoreRouteTest, AnUnreachableEndpointIsNamedSoon) {
  int port = 0;
  {
    BucketdProcess server({"--synthetic", kSpec});
    port = server.port();
  }
  BlockingStore store(SettingsFor(absl::StrCat("http://127.0.0.1:", port)));
  EXPECT_THAT(store.List(),
              StatusIs(absl::StatusCode::kUnavailable,
                       HasSubstr(absl::StrCat("cannot list oss://b: cannot reach http://127.0.0.1:", port,
                                              ": Connection refused"))));
  EXPECT_EQ(store->metrics().retries, 2u);
}

TEST(StoreRouteTest, AMisspeltEndpointIsNamed) {
  BlockingStore store(SettingsFor("http://no-such-host.invalid"));
  EXPECT_THAT(store.List(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot be resolved; is url= right?")));
}

TEST(StoreRouteTest, IPv6IsSpoken) {
  BucketdProcess server({"--listen", "[::1]:0", "--synthetic", kSpec});
  BlockingStore store(SettingsFor(server.url()));
  EXPECT_OK(store.List());
}

TEST(StoreRouteTest, SeveralLoopsServeOneStore) {
  BucketdProcess server({"--synthetic", kSpec});
  StoreSettings settings = SettingsFor(server.url());
  settings.transport.threads = 3;
  BlockingStore store(settings);
  const std::string key = FirstKey(store);
  std::vector<RecordingSink> sinks(200);
  for (RecordingSink& sink : sinks) {
    GetRequest request;
    request.key = key;
    request.range = {0, 1000};
    store->Get(std::move(request), &sink);
  }
  for (RecordingSink& sink : sinks) {
    EXPECT_OK(sink.Await());
    EXPECT_EQ(sink.data().size(), 1000u);
  }
}

TEST(StoreRouteTest, LoopsGrowWithTheMachine) {
  EXPECT_EQ(EventLoopsFor(0.1), 1);
  EXPECT_EQ(EventLoopsFor(4), 1);
  EXPECT_EQ(EventLoopsFor(8), 2);
  EXPECT_EQ(EventLoopsFor(16), 4);
  EXPECT_EQ(EventLoopsFor(128), 4);
}

TEST(StoreRouteTest, AServerThatComesBackIsUsedAgain) {
  auto server = std::make_unique<BucketdProcess>(std::vector<std::string>{"--synthetic", kSpec});
  StoreSettings settings = SettingsFor(server->url());
  settings.retry.max_attempts = 1000;
  settings.retry.first_delay = settings.retry.longest_delay = absl::Milliseconds(20);
  BlockingStore store(settings);
  const std::string key = FirstKey(store);
  const std::string listen = absl::StrCat("127.0.0.1:", server->port());
  server.reset();
  RecordingSink sink;
  GetRequest request;
  request.key = key;
  request.range = {0, 1000};
  store->Get(std::move(request), &sink);
  server =
      std::make_unique<BucketdProcess>(std::vector<std::string>{"--listen", listen, "--synthetic", kSpec});
  EXPECT_OK(sink.Await());
  EXPECT_EQ(sink.data(), Expected(key, 0, 1000));
}

// --- Proxies: bucketd takes absolute request targets as any server must (RFC 9112 §3.2.2), so it can play
// the proxy ---

TEST(ProxyTest, RequestsGoToTheProxy) {
  BucketdProcess server({"--synthetic", kSpec});
  StoreSettings settings = SettingsFor("http://storage.example.invalid");
  settings.addressing = Addressing::kPath;
  settings.transport.proxy.proxy = absl::StrCat("http://user:proxy-password@127.0.0.1:", server.port());
  BlockingStore store(settings);
  EXPECT_OK(store.List());
  EXPECT_EQ(store->Route(),
            absl::StrCat("http://storage.example.invalid by proxy http://127.0.0.1:", server.port()));
}

TEST(ProxyTest, TheEnvironmentsProxyIsTakenUnlessExcepted) {
  BucketdProcess server({"--synthetic", kSpec});
  StoreSettings settings = SettingsFor("http://storage.example.invalid");
  settings.addressing = Addressing::kPath;
  settings.transport.proxy.proxy = "";
  settings.transport.proxy.env_http_proxy = server.url();
  EXPECT_OK(BlockingStore(settings).List());
  settings.transport.proxy.env_no_proxy = "example.invalid";
  EXPECT_THAT(BlockingStore(settings).List(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot be resolved")));
}

TEST(ProxyTest, ADeadProxyIsNamedWithoutItsPassword) {
  int port = 0;
  {
    BucketdProcess server({"--synthetic", kSpec});
    port = server.port();
  }
  StoreSettings settings = SettingsFor("http://storage.example.invalid");
  settings.transport.proxy.proxy = absl::StrCat("http://user:proxy-password@127.0.0.1:", port);
  EXPECT_THAT(BlockingStore(settings).List(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr(absl::StrCat("by proxy http://127.0.0.1:", port)),
                             Not(HasSubstr("proxy-password")))));
}

// --- TLS ---

class TlsTest : public ::testing::Test {
 protected:
  std::vector<std::string> Flags(std::vector<std::string> flags) const {
    flags.insert(flags.end(), {"--synthetic", kSpec});
    for (std::string& flag : files_.ServerFlags()) flags.push_back(std::move(flag));
    return flags;
  }

  const TlsFiles files_;
  std::optional<BucketdProcess> server_{Flags({})};
};

TEST_F(TlsTest, AnOwnAuthorityIsTrustedWhenNamed) {
  StoreSettings settings = SettingsFor(server_->url());
  settings.transport.ca_file = files_.certificate();
  BlockingStore store(settings);
  const std::string key = FirstKey(store);
  ASSERT_OK_AND_ASSIGN(const std::string data, store.Get(key, {5, 2000}));
  EXPECT_EQ(data, Expected(key, 5, 1995));
}

TEST_F(TlsTest, AnUnknownAuthorityIsRefusedAtOnce) {
  BlockingStore store(SettingsFor(server_->url()));
  EXPECT_THAT(store.List(), StatusIs(absl::StatusCode::kUnavailable,
                                     AllOf(HasSubstr("certificate is not trusted"), HasSubstr("ca_file="))));
  EXPECT_EQ(store->metrics().retries, 0u);
}

TEST_F(TlsTest, AnotherHostsCertificateIsRefused) {
  const BucketdProcess other(Flags({"--listen", "127.0.0.2:0"}));
  StoreSettings settings = SettingsFor(other.url());
  settings.transport.ca_file = files_.certificate();
  EXPECT_THAT(BlockingStore(settings).List(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("not trusted")));
}

TEST_F(TlsTest, VerificationCanBeSwitchedOff) {
  StoreSettings settings = SettingsFor(server_->url());
  settings.transport.check_certificate = false;
  EXPECT_OK(BlockingStore(settings).List());
}

TEST_F(TlsTest, HttpToAnHttpsPortIsNamed) {
  StoreSettings settings = SettingsFor(absl::StrCat("http://127.0.0.1:", server_->port()));
  EXPECT_THAT(BlockingStore(settings).List(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("http://127.0.0.1")));
}

TEST_F(TlsTest, HttpsToAnHttpPortIsNamed) {
  BucketdProcess plain({"--synthetic", kSpec});
  StoreSettings settings = OneAttempt(SettingsFor(absl::StrCat("https://127.0.0.1:", plain.port())));
  settings.transport.connect_timeout =
      absl::Milliseconds(300);  // The server waits for a request line that never comes.
  EXPECT_THAT(
      BlockingStore(settings).List(),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("TLS was not set up within 300ms; is url= right")));
}

TEST_F(TlsTest, AServerThatNeverAnswersTheHandshakeIsNamed) {
  const HandServer silent([](HandServer&, int connection) { HandServer::BeSilent(connection); });
  StoreSettings settings = OneAttempt(SettingsFor(absl::StrCat("https://127.0.0.1:", silent.port())));
  settings.transport.connect_timeout = absl::Milliseconds(300);
  EXPECT_THAT(
      BlockingStore(settings).List(),
      StatusIs(absl::StatusCode::kUnavailable, HasSubstr("TLS was not set up within 300ms; is url=")));
}

TEST_F(TlsTest, AServerThatNeverAnswersTheHandshakeIsNamedBehindAProxy) {
  const HandServer proxy([](HandServer&, int connection) {
    HandServer::ReadHead(connection);
    constexpr absl::string_view kConnected = "HTTP/1.1 200 Connection established\r\n\r\n";
    (void)!write(connection, kConnected.data(), kConnected.size());
    HandServer::BeSilent(connection);
  });
  StoreSettings settings = OneAttempt(SettingsFor("https://storage.example.invalid"));
  settings.transport.proxy.proxy = absl::StrCat("http://user:proxy-password@127.0.0.1:", proxy.port());
  settings.transport.connect_timeout = absl::Milliseconds(300);
  EXPECT_THAT(BlockingStore(settings).List(),
              StatusIs(absl::StatusCode::kUnavailable,
                       AllOf(HasSubstr("TLS was not set up within 300ms (by proxy http://127.0.0.1:"),
                             Not(HasSubstr("proxy-password")))));
}

TEST_F(TlsTest, ACaFileMustBeReadable) {
  StoreSettings settings = SettingsFor(server_->url());
  settings.transport.ca_file = files_.absent();
  StaticCredentials credentials(TestKeys());
  EXPECT_THAT(MakeObjectStore(settings, credentials, Clock::Real()),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("ca_file"), HasSubstr("absent.pem"))));
}

}  // namespace
}  // namespace bucketvol
