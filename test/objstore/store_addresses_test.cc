// A service with several addresses, some of which do not work.

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "mounter/base/unique_fd.h"
#include "test/objstore/hand_server.h"
#include "test/objstore/store_fixture.h"
#include "test/objstore/synthetic_bucket.h"
#include "test/objstore/tls_files.h"
#include "test/support/bucketd_process.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using testing::BlockingStore;
using testing::BucketdProcess;
using testing::HandServer;
using testing::kSpec;
using testing::RecordingSink;
using testing::SettingsFor;
using testing::TlsFiles;

// Two servers, and a third address for a test to do with as it likes. Connections are spread over all three.
class StoreAddressesTest : public ::testing::Test {
 protected:
  explicit StoreAddressesTest(std::vector<std::string> flags = {}) {
    flags.insert(flags.end(), {"--synthetic", kSpec, "--listen", "127.0.0.1:0"});
    first_ = std::make_unique<BucketdProcess>(flags);
    flags.back() = absl::StrCat("127.0.0.2:", port());
    second_ = std::make_unique<BucketdProcess>(flags);
  }

  int port() const { return first_->port(); }
  // A name is no part of the test: the first server's address stands for all.
  StoreSettings Settings(std::vector<const char*> addresses) const {
    StoreSettings settings = SettingsFor(first_->url());
    settings.transport.resolve = [addresses = std::move(addresses)](const std::string&) {
      std::vector<SocketAddress> parsed;
      for (const char* const each : addresses) parsed.push_back(SocketAddress::Parse(each, 0));
      return parsed;
    };
    return settings;
  }
  // Each request has a connection of its own.
  StoreSettings WithoutKeptConnections() const {
    StoreSettings settings = Settings({"127.0.0.1", "127.0.0.2", "127.0.0.3"});
    settings.transport.max_connections = 0;
    settings.hedge.reset();
    return settings;
  }
  // Reads until connections go to the second address, too.
  void Begin(BlockingStore& store) {
    key_ = testing::FirstKey(store);
    ASSERT_OK_AND_ASSIGN(const ObjectInfo info, store.Head(key_));
    etag_ = info.etag;
    for (size_t count = 2; second_->Count("GET") == 0; ++count) ReadAtOnce(store, count);
  }
  // Each over a connection of its own.
  void ReadAtOnce(BlockingStore& store, size_t count) {
    std::vector<RecordingSink> sinks(count);
    for (RecordingSink& sink : sinks) {
      GetRequest request;
      request.key = key_;
      request.range = {0, 1'000};
      store->Get(std::move(request), &sink);
    }
    for (RecordingSink& sink : sinks) ASSERT_OK(sink.Await());
  }
  void Read(BlockingStore& store, int count) {
    for (int i = 0; i < count; ++i) ASSERT_OK(store.Get(key_, {0, 1'000}, etag_));
  }

  std::unique_ptr<BucketdProcess> first_, second_;
  std::string key_, etag_;
};

// How often a minute's worth of probes tries an address that stays dead, the first time included.
constexpr int kMostTries = 7;

TEST_F(StoreAddressesTest, ConnectionsAreSpread) {
  const BucketdProcess third({"--synthetic", kSpec, "--listen", absl::StrCat("127.0.0.3:", port())});
  BlockingStore store(WithoutKeptConnections());
  Begin(store);
  const int64_t before = third.Count("GET");
  Read(store, 90);
  EXPECT_EQ(third.Count("GET") - before, 30);
}

TEST_F(StoreAddressesTest, OneThatRefusesIsLeftAlone) {
  BlockingStore store(WithoutKeptConnections());
  Begin(store);
  const int64_t first = first_->Count("GET"), second = second_->Count("GET");
  Read(store, 100);
  EXPECT_LE(store->metrics().retries, static_cast<uint64_t>(kMostTries));
  EXPECT_GE(first_->Count("GET") - first, 49);
  EXPECT_GE(second_->Count("GET") - second, 49);
}

TEST_F(StoreAddressesTest, OneThatNeverAnswersIsLeftAlone) {
  StoreSettings settings = WithoutKeptConnections();
  settings.transport.first_byte_timeout = absl::Seconds(1.2);
  const HandServer silent([](HandServer&, int connection) { HandServer::BeSilent(connection); }, port(),
                          INADDR_LOOPBACK + 2);
  BlockingStore store(settings);
  Begin(store);
  Read(store, 100);
  EXPECT_GT(silent.connections(), 0);
  EXPECT_LE(silent.connections(), kMostTries);
}

TEST_F(StoreAddressesTest, SecondRequestsFindItOutToo) {
  StoreSettings settings = WithoutKeptConnections();
  settings.hedge = {.budget = 1, .outage_share = 1};
  const BucketdProcess third({"--synthetic", kSpec, "--listen", absl::StrCat("127.0.0.3:", port())});
  BlockingStore store(settings);
  Begin(store);
  Read(store, 60);
  third.Config("first-byte=60s");
  Read(store, 400);  // Each costs the time that makes a request slow, and all together a second or two.
  EXPECT_GT(store->metrics().hedged, 0u);
  const int64_t tries = third.Count("GET");
  Read(store, 100);
  EXPECT_LE(third.Count("GET") - tries, kMostTries);
}

TEST_F(StoreAddressesTest, OneThatTakesNoConnectionIsLeftAlone) {
  // A listener that accepts nothing: once its queue is full, the kernel drops what comes.
  const UniqueFd full(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 2);
  address.sin_port = htons(static_cast<uint16_t>(port()));
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  ASSERT_EQ(bind(full.get(), generic, sizeof(address)), 0);
  ASSERT_EQ(listen(full.get(), 0), 0);
  std::vector<UniqueFd> waiting;
  for (int i = 0; i < 4; ++i) {
    waiting.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    (void)connect(waiting.back().get(), generic, sizeof(address));
  }
  StoreSettings settings = WithoutKeptConnections();
  settings.transport.connect_timeout = absl::Seconds(1.2);
  BlockingStore store(settings);
  Begin(store);
  Read(store, 100);
  EXPECT_GT(store->metrics().retries, 0u);
  EXPECT_LE(store->metrics().retries, static_cast<uint64_t>(kMostTries));
}

TEST_F(StoreAddressesTest, AllAreTriedWhenNoneWorks) {
  BlockingStore store(WithoutKeptConnections());
  Begin(store);
  first_->Stop(SIGKILL);
  second_->Stop(SIGKILL);
  EXPECT_FALSE(store.Get(key_, {0, 1}).ok());
  const BucketdProcess back({"--synthetic", kSpec, "--listen", absl::StrCat("127.0.0.2:", port())});
  EXPECT_OK(store.Get(key_, {0, 1}));
}

// Over plain connections, and over those of libcurl, which keep connections as they like.
class RepetitionTest : public StoreAddressesTest {
 protected:
  RepetitionTest(const std::vector<std::string>& flags) : StoreAddressesTest(flags) {}

  // Two attempts must do, although one server has nothing but errors to give.
  void ExpectTheOtherServerToHelp(StoreSettings settings) {
    settings.hedge.reset();
    settings.retry.max_attempts = 2;
    BlockingStore store(settings);
    Begin(store);
    first_->Config("fault=op=GET,kind=500");
    Read(store, 20);
    first_->Config("fault=none");
    second_->Config("fault=op=GET,kind=500");
    Read(store, 20);
  }
};

class PlainRepetitionTest : public RepetitionTest {
 protected:
  PlainRepetitionTest() : RepetitionTest({}) {}
};

TEST_F(PlainRepetitionTest, GoesElsewhere) {
  ExpectTheOtherServerToHelp(Settings({"127.0.0.1", "127.0.0.2"}));
}

class TlsRepetitionTest : private TlsFiles, public RepetitionTest {
 protected:
  TlsRepetitionTest() : RepetitionTest(ServerFlags()) {}
  using TlsFiles::certificate;
};

TEST_F(TlsRepetitionTest, GoesElsewhere) {
  StoreSettings settings = Settings({"127.0.0.1", "127.0.0.2"});
  settings.transport.ca_file = certificate();
  ExpectTheOtherServerToHelp(settings);
}

}  // namespace
}  // namespace bucketvol
