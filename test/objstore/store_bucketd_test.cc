// The client against a real server, over real sockets: what it must bear, and what it must say.

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "mounter/base/crc.h"
#include "test/objstore/store_fixture.h"
#include "test/objstore/synthetic_bucket.h"
#include "test/support/bucketd_process.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

using ::testing::_;
using ::testing::AllOf;
using testing::BlockingStore;
using testing::BucketdProcess;
using testing::Expected;
using testing::FirstKey;
using ::testing::HasSubstr;
using testing::kSpec;
using ::testing::Not;
using testing::OneAttempt;
using testing::RecordingSink;
using testing::SettingsFor;
using testing::StatusIs;

// --- Signatures ---

struct SignatureCase {
  const char* name;
  Dialect dialect;
  Signature signature;
  ListVersion list_version;
};

class SignatureTest : public ::testing::TestWithParam<SignatureCase> {
 protected:
  StoreSettings Settings(const BucketdProcess& server) {
    StoreSettings settings = SettingsFor(server.url());
    settings.dialect = GetParam().dialect;
    settings.signature = GetParam().signature;
    settings.list_version = GetParam().list_version;
    return settings;
  }
};

TEST_P(SignatureTest, IsTakenByTheServer) {
  BucketdProcess server({"--synthetic", kSpec, "--access-key", "test-key", "--secret-key", "test-secret"});
  BlockingStore store(Settings(server));
  std::vector<std::string> keys;
  ListRequest request;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const ListPage page, store.List(request));
    for (const ListedObject& object : page.objects) keys.emplace_back(object.key);
    if (!page.truncated) break;
    request.continuation_token = page.next_token;
  }
  EXPECT_EQ(keys.size(), 2500u);
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  ASSERT_OK_AND_ASSIGN(const ObjectInfo info, store.Head(keys[7]));
  EXPECT_EQ(info.size, 100'000u);
  ASSERT_OK_AND_ASSIGN(const std::string data, store.Get(keys[7], {99'000, 100'000}, info.etag));
  EXPECT_EQ(data, Expected(keys[7], 99'000, 1'000));
  EXPECT_EQ(server.Count("auth_failures"), 0);
}

TEST_P(SignatureTest, AWrongSecretIsNamed) {
  BucketdProcess server({"--synthetic", kSpec, "--access-key", "test-key", "--secret-key", "test-secret"});
  BlockingStore store(Settings(server), {"test-key", Secret("wrong-secret"), Secret()});
  EXPECT_THAT(store.List(),
              StatusIs(absl::StatusCode::kUnauthenticated,
                       AllOf(HasSubstr("SignatureDoesNotMatch"), HasSubstr("check the access key secret"),
                             HasSubstr("HTTP 403"), Not(HasSubstr("wrong-secret")))));
  EXPECT_THAT(store.Get("k", {0, 1}),
              StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("SignatureDoesNotMatch")));
  EXPECT_THAT(std::string(store.Head("k").status().message()), HasSubstr("HTTP 403"));
}

TEST_P(SignatureTest, SessionTokensAreSent) {
  BucketdProcess server({"--synthetic", kSpec, "--access-key", "test-key", "--secret-key", "test-secret",
                         "--session-token", "test-token"});
  BlockingStore good(Settings(server), {"test-key", Secret("test-secret"), Secret("test-token")});
  EXPECT_OK(good.List());
  BlockingStore bad(Settings(server), {"test-key", Secret("test-secret"), Secret("other-token")});
  EXPECT_THAT(bad.List(), StatusIs(absl::StatusCode::kUnauthenticated, Not(HasSubstr("other-token"))));
}

TEST_P(SignatureTest, AWrongClockIsCorrected) {
  BucketdProcess server({"--synthetic", kSpec, "--access-key", "test-key", "--secret-key", "test-secret",
                         "--clock-offset", "40m"});
  BlockingStore store(Settings(server));
  EXPECT_OK(store.List());
  EXPECT_OK(store.List());
  EXPECT_EQ(server.Count("LIST"), 3);  // Only the first was refused.
}

INSTANTIATE_TEST_SUITE_P(
    All, SignatureTest,
    ::testing::Values(SignatureCase{"OssV1", Dialect::kOss, Signature::kOssV1, ListVersion::kV2},
                      SignatureCase{"OssV4", Dialect::kOss, Signature::kOssV4, ListVersion::kV2},
                      SignatureCase{"OssV4ListV1", Dialect::kOss, Signature::kOssV4, ListVersion::kV1},
                      SignatureCase{"S3", Dialect::kS3, Signature::kAwsV4, ListVersion::kV2},
                      SignatureCase{"S3ListV1", Dialect::kS3, Signature::kAwsV4, ListVersion::kV1}),
    [](const auto& test) { return test.param.name; });

// --- Faults ---

class FaultTest : public ::testing::Test {
 protected:
  FaultTest() : server_({"--synthetic", kSpec}), store_(Settings()) { key_ = FirstKey(store_); }

  StoreSettings Settings() {
    StoreSettings settings = SettingsFor(server_.url());
    settings.transport.first_byte_timeout = settings.transport.stall_timeout = absl::Milliseconds(300);
    return settings;
  }
  uint64_t retries() { return store_->metrics().retries; }

  BucketdProcess server_;
  BlockingStore store_;
  std::string key_;
};

TEST_F(FaultTest, ReadsAreRightThroughFaultsThatPass) {
  const std::string expected = Expected(key_, 0, 100'000);
  ASSERT_OK_AND_ASSIGN(const ObjectInfo info, store_.Head(key_));
  for (const char* kind : {"503", "500", "reset", "truncate", "wrong-length", "stall:5s"}) {
    server_.Config(absl::StrCat("fault=none\nfault=op=GET,kind=", kind, ",count=2"));
    const uint64_t before = retries();
    const absl::StatusOr<std::string> data = store_.Get(key_, {0, 100'000}, info.etag, info.size);
    ASSERT_OK(data) << kind;
    EXPECT_TRUE(*data == expected) << kind;
    EXPECT_EQ(retries() - before, 2u) << kind;
  }
}

TEST_F(FaultTest, ListingsAreRightThroughFaultsThatPass) {
  for (const char* kind : {"503", "500", "reset", "truncate", "bad-xml", "cut-xml", "stall:5s"}) {
    server_.Config(absl::StrCat("fault=none\nfault=op=LIST,kind=", kind, ",count=2"));
    const uint64_t before = retries();
    const absl::StatusOr<ListPage> page = store_.List();
    ASSERT_OK(page) << kind;
    EXPECT_EQ(page->objects.size(), 1000u) << kind;
    EXPECT_EQ(retries() - before, 2u) << kind;
  }
}

TEST_F(FaultTest, LastingFaultsBecomeClearErrors) {
  BlockingStore once(OneAttempt(Settings()));
  const auto fault = [&](const char* kind) {
    server_.Config(absl::StrCat("fault=none\nfault=op=GET,kind=", kind));
    return once.Get(key_, {0, 100'000});
  };
  EXPECT_THAT(fault("503"), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("HTTP 503")));
  EXPECT_THAT(fault("500"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("HTTP 500")));
  EXPECT_THAT(fault("reset"), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("lost the connection")));
  EXPECT_THAT(fault("truncate"), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("ended early")));
  EXPECT_THAT(fault("stall:5s"), StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("300ms")));
  EXPECT_THAT(fault("wrong-length"), StatusIs(absl::StatusCode::kDataLoss, _));
}

TEST_F(FaultTest, AnotherVersionIsNoData) {
  ASSERT_OK_AND_ASSIGN(const ObjectInfo info, store_.Head(key_));
  server_.Config("fault=op=GET,kind=wrong-etag");
  EXPECT_THAT(store_.Get(key_, {0, 100'000}, info.etag),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("changed")));
  server_.Config("fault=none");
  EXPECT_THAT(store_.Get(key_, {0, 100'000}, "other"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("PreconditionFailed")));
}

TEST_F(FaultTest, AWebPageIsNamed) {
  server_.Config("fault=op=LIST,kind=html");
  EXPECT_THAT(std::string(store_.List().status().message()), HasSubstr("HTML page, is url= right?"));
}

TEST_F(FaultTest, ThrottlingIsBorne) {
  server_.Config("fault=op=LIST,qps=20");
  StoreSettings settings = Settings();
  settings.retry.first_throttled_delay = absl::Milliseconds(200);
  settings.retry.max_attempts = 50;
  BlockingStore store(settings);
  std::atomic<int> good{0};
  absl::Mutex mu;
  int left = 60;
  for (int i = 0; i < 60; ++i) {
    ListRequest request;
    request.max_keys = 1;
    store->List(std::move(request), [&](absl::StatusOr<ListPage> page) {
      if (page.ok()) ++good;
      absl::MutexLock lock(&mu);
      --left;
    });
  }
  absl::MutexLock lock(&mu);
  mu.Await(absl::Condition(
      +[](int* n) { return *n == 0; }, &left));
  EXPECT_EQ(good, 60);
  EXPECT_GT(store->metrics().throttled, 0u);
}

TEST_F(FaultTest, CancellationEndsAStalledRead) {
  server_.Config("fault=op=GET,kind=stall:30s");
  StoreSettings settings = SettingsFor(server_.url());
  BlockingStore store(settings);
  RecordingSink sink;
  GetRequest request;
  request.key = key_;
  request.range = {0, 100'000};
  request.cancellation = std::make_shared<Cancellation>();
  const auto cancellation = request.cancellation;
  store->Get(std::move(request), &sink);
  cancellation->Cancel();
  EXPECT_THAT(sink.Await(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST_F(FaultTest, OneCancellationEndsManyRequests) {
  server_.Config("fault=op=GET,kind=stall:30s");
  BlockingStore store(SettingsFor(server_.url()));
  const auto cancellation = std::make_shared<Cancellation>();
  std::vector<RecordingSink> sinks(20);
  for (RecordingSink& sink : sinks) {
    GetRequest request;
    request.key = key_;
    request.range = {0, 100'000};
    request.cancellation = cancellation;
    store->Get(std::move(request), &sink);
  }
  cancellation->Cancel();
  for (RecordingSink& sink : sinks) EXPECT_THAT(sink.Await(), StatusIs(absl::StatusCode::kCancelled, _));
}

TEST_F(FaultTest, TheDestructorEndsEveryRequest) {
  server_.Config("fault=op=GET,kind=stall:30s");
  BlockingStore store(SettingsFor(server_.url()));
  std::vector<RecordingSink> sinks(20);
  for (RecordingSink& sink : sinks) {
    GetRequest request;
    request.key = key_;
    request.range = {0, 100'000};
    store->Get(std::move(request), &sink);
  }
  store.Destroy();
  for (const RecordingSink& sink : sinks) {
    EXPECT_EQ(sink.ends(), 1);
    EXPECT_THAT(sink.status(), StatusIs(absl::StatusCode::kCancelled, _));
  }
}

TEST_F(FaultTest, AListingsOwnDeadlineCounts) {
  server_.Config("fault=op=LIST,kind=stall:30s");
  BlockingStore store(OneAttempt(SettingsFor(server_.url())));
  ListRequest request;
  request.deadline = absl::Milliseconds(100);
  EXPECT_THAT(store.List(std::move(request)),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("100ms")));
}

TEST_F(FaultTest, ConnectionsAreUsedAgain) {
  for (int i = 0; i < 50; ++i) EXPECT_OK(store_.Get(key_, {0, 10}));
  EXPECT_LE(server_.Count("connections"), 3);  // The store's own, and those of the admin calls.
}

TEST_F(FaultTest, MetricsTellWhatWasSent) {
  server_.Reset();
  server_.Config("fault=op=GET,kind=500,count=3");
  const uint64_t gets = store_->metrics().Requests(StoreOperation::kGet);
  EXPECT_OK(store_.Get(key_, {0, 10}));
  EXPECT_EQ(store_->metrics().Requests(StoreOperation::kGet) - gets, 4u);
  EXPECT_EQ(server_.Count("GET"), 4);
  EXPECT_EQ(store_->metrics().in_flight, 0);
}

// --- Hostile keys ---

// Through every layer: also a hedged answer or one that was asked for again brings it.
TEST(StoreBucketdTest, TheObjectsChecksumArrivesWhateverTheRange) {
  BucketdProcess server(
      {"--synthetic", absl::StrCat(kSpec, ",crc=on"), "--fault", "op=GET,count=1,kind=truncate"});
  BlockingStore store(SettingsFor(server.url()));
  const std::string key = FirstKey(store);
  RecordingSink sink;
  GetRequest request;
  request.key = key;
  request.range = {1000, 90'000};
  store->Get(std::move(request), &sink);
  ASSERT_OK(sink.Await());
  EXPECT_EQ(sink.object_crc64(), Crc64(0, Expected(key, 0, 100'000)));
}

TEST(StoreBucketdTest, HostileKeysArriveAsTheyAre) {
  const testing::TempDir root;
  BucketdProcess server({"--root", root.path(), "--synthetic", kSpec});
  BlockingStore store(OneAttempt(SettingsFor(server.url())));
  for (const char* key : {"..", "a/../../etc/passwd", "a//b", "./x", "a?b#c%41+ d", "\xC3\xA9\n\x01"}) {
    EXPECT_THAT(store.Get(key, {0, 1}), StatusIs(absl::StatusCode::kNotFound, HasSubstr("NoSuchKey"))) << key;
  }
}

}  // namespace
}  // namespace bucketvol
