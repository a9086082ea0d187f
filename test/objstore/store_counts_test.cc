// What the metrics say of requests, against what the server counted.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/objstore/hand_server.h"
#include "test/objstore/store_fixture.h"
#include "test/objstore/synthetic_bucket.h"
#include "test/objstore/tls_files.h"
#include "test/support/bucketd_process.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::_;
using testing::BlockingStore;
using testing::BucketdProcess;
using testing::FirstKey;
using testing::HandServer;
using ::testing::HasSubstr;
using testing::kSpec;
using testing::OneAttempt;
using testing::RecordingSink;
using testing::SettingsFor;
using testing::StatusIs;
using testing::TestKeys;
using testing::TlsFiles;

constexpr char kPage[] = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>";

uint64_t Gets(BlockingStore& store) { return store->metrics().Requests(StoreOperation::kGet); }
uint64_t Lists(BlockingStore& store) { return store->metrics().Requests(StoreOperation::kList); }

// Over plain connections, and over those of libcurl.
class StoreCountsTest : public ::testing::TestWithParam<bool> {
 protected:
  StoreCountsTest() { Serve({}); }

  void Serve(std::vector<std::string> flags) {
    server_.reset();
    flags.insert(flags.end(), {"--synthetic", kSpec});
    server_ = std::make_unique<BucketdProcess>(Flags(std::move(flags)));
  }
  std::vector<std::string> Flags(std::vector<std::string> more) const {
    if (!GetParam()) return more;
    for (std::string& flag : files_.ServerFlags()) more.push_back(std::move(flag));
    return more;
  }
  StoreSettings Settings() const {
    StoreSettings settings = SettingsFor(server_->url());
    settings.transport.ca_file = files_.certificate();
    return settings;
  }
  static GetRequest RequestFor(const std::string& key, std::shared_ptr<Cancellation> cancellation = nullptr) {
    GetRequest request;
    request.key = key;
    request.range = {0, 100'000};
    request.cancellation = std::move(cancellation);
    return request;
  }
  // The server reads what was cancelled after it was sent a moment later.
  void AwaitGets(BlockingStore& store) {
    const auto sent = static_cast<int64_t>(Gets(store));
    const absl::Time limit = absl::Now() + absl::Seconds(20);
    while (server_->Count("GET") < sent && absl::Now() < limit) continue;
    EXPECT_EQ(server_->Count("GET"), sent);
  }
  // And makes sure that it reads no other.
  void ExpectSameGets(BlockingStore& store, const std::string& key) {
    AwaitGets(store);
    EXPECT_OK(store.Get(key, {0, 1}));
    EXPECT_EQ(server_->Count("GET"), static_cast<int64_t>(Gets(store)));
  }

  const TlsFiles files_;
  std::unique_ptr<BucketdProcess> server_;
};

TEST_P(StoreCountsTest, ARequestThatWasCancelledBeforeItsTurnDoesNotCount) {
  StoreSettings settings = Settings();
  settings.request_rate = 1;
  BlockingStore store(settings);
  const std::string key = FirstKey(store);
  std::vector<RecordingSink> sinks(20);
  const auto cancellation = std::make_shared<Cancellation>();
  for (RecordingSink& sink : sinks) store->Get(RequestFor(key, cancellation), &sink);
  cancellation->Cancel();
  for (RecordingSink& sink : sinks) (void)sink.Await();
  EXPECT_LT(Gets(store), 10u);
  AwaitGets(store);
}

TEST_P(StoreCountsTest, ARequestThatWasCancelledBeforehandIsNotSent) {
  BlockingStore store(Settings());
  const std::string key = FirstKey(store);
  RecordingSink sink;
  const auto cancellation = std::make_shared<Cancellation>();
  cancellation->Cancel();
  store->Get(RequestFor(key, cancellation), &sink);
  EXPECT_THAT(sink.Await(), StatusIs(absl::StatusCode::kCancelled, _));
  EXPECT_EQ(Gets(store), 0u);
  ExpectSameGets(store, key);
}

TEST_P(StoreCountsTest, RepetitionsAndSecondRequestsCountWhenTheyAreSent) {
  StoreSettings settings = Settings();
  settings.hedge = {.budget = 1, .outage_share = 1, .least_samples = 5};
  BlockingStore store(settings);
  const std::string key = FirstKey(store);
  ASSERT_OK_AND_ASSIGN(const ObjectInfo info, store.Head(key));
  server_->Config(
      "first-byte=3ms\nfault=op=GET,rate=0.1,kind=stall:100ms\nfault=op=GET,rate=0.1,kind=503\n"
      "fault=op=GET,rate=0.1,kind=reset\nfault=op=GET,rate=0.1,kind=truncate");
  for (int round = 0; round < 8; ++round) {
    std::vector<RecordingSink> sinks(20);
    const auto cancellation = std::make_shared<Cancellation>();
    for (size_t i = 0; i < sinks.size(); ++i) {
      GetRequest request = RequestFor(key, i % 4 == 0 ? cancellation : nullptr);
      request.if_match = info.etag;
      store->Get(std::move(request), &sinks[i]);
    }
    cancellation->Cancel();
    for (RecordingSink& sink : sinks) (void)sink.Await();
  }
  server_->Config("fault=none");
  EXPECT_GT(store->metrics().hedged, 0u);
  EXPECT_GT(store->metrics().retries, 0u);
  ExpectSameGets(store, key);
}

TEST_P(StoreCountsTest, WhatARefusalHasSentAgainCounts) {
  Serve({"--access-key", "test-key", "--secret-key", "test-secret", "--clock-offset", "40m"});
  BlockingStore store(Settings());
  EXPECT_OK(store.List());
  EXPECT_EQ(Lists(store), 2u);
  EXPECT_EQ(server_->Count("LIST"), 2);
}

TEST_P(StoreCountsTest, ARefusedConnectionIsNoRequest) {
  const StoreSettings settings = Settings();
  server_.reset();
  BlockingStore store(settings);
  EXPECT_THAT(store.List(), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("refused")));
  EXPECT_EQ(store->metrics().retries, 2u);
  EXPECT_EQ(Lists(store), 0u);
}

TEST_P(StoreCountsTest, OneThatIsNeverAnsweredCounts) {
  StoreSettings settings = OneAttempt(Settings());
  settings.transport.first_byte_timeout = absl::Milliseconds(50);
  BlockingStore store(settings);
  server_->Config("list-page=5s");
  for (uint64_t i = 1; i <= 2; ++i) {
    EXPECT_THAT(store.List(), StatusIs(absl::StatusCode::kDeadlineExceeded, _));
    EXPECT_EQ(Lists(store), i);
    EXPECT_EQ(server_->Count("LIST"), static_cast<int64_t>(i));
  }
}

// A server that ends may have its address taken by the next.
TEST_P(StoreCountsTest, AServerThatWasReplacedIsCountedFromItsBeginning) {
  BlockingStore store(Settings());
  EXPECT_OK(store.List());
  const std::string listen = absl::StrCat("127.0.0.1:", server_->port());
  Serve({"--listen", listen});
  EXPECT_OK(store.List());
  EXPECT_EQ(Lists(store), 2u);
  EXPECT_EQ(server_->Count("LIST"), 1);
}

INSTANTIATE_TEST_SUITE_P(Ways, StoreCountsTest, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "Tls" : "Plain"; });

// --- Connections that the server gives up just when they are used again ---

TEST(StoreCountsOverKeptConnectionsTest, ARequestThatFindsItsConnectionClosedCountsOnce) {
  HandServer server([](HandServer&, int connection) {
    HandServer::ReadHead(connection);
    HandServer::Answer(connection, kPage);
    HandServer::ReadHead(connection);
  });
  BlockingStore store(SettingsFor(absl::StrCat("http://127.0.0.1:", server.port())));
  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_OK(store.List());
    EXPECT_EQ(Lists(store), i);
  }
  EXPECT_EQ(server.connections(), 3);
  EXPECT_EQ(store->metrics().retries, 0u);
}

TEST(StoreCountsOverKeptConnectionsTest, NoneThatFindsItsConnectionClosedAndNoOther) {
  HandServer server([](HandServer& self, int connection) {
    HandServer::ReadHead(connection);
    HandServer::Answer(connection, kPage);
    HandServer::ReadHead(connection);
    self.StopListening();
  });
  BlockingStore store(OneAttempt(SettingsFor(absl::StrCat("http://127.0.0.1:", server.port()))));
  EXPECT_OK(store.List());
  EXPECT_THAT(store.List(),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("cannot reach http://127.0.0.1")));
  EXPECT_EQ(Lists(store), 1u);
}

}  // namespace
}  // namespace bucketvol
