#include "mounter/objstore/transfer_failure.h"

#include <errno.h>

#include "gtest/gtest.h"
#include "mounter/objstore/store_error.h"
#include "mounter/objstore/transfer_watch.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;

TransferFailure Failure(TransferFailure::Kind kind) {
  TransferFailure failure;
  failure.kind = kind;
  failure.url = "https://b.example.com:8443/key?secret=query";
  failure.connect_timeout = absl::Seconds(5);
  failure.detail = "the library's words";
  return failure;
}

TEST(TransferFailureTest, OriginsOfUrls) {
  EXPECT_EQ(OriginOf("http://h/p").host, "h");
  EXPECT_EQ(OriginOf("http://h:1/p").host, "h");
  EXPECT_EQ(OriginOf("http://[::1]:1/p").host, "::1");
  EXPECT_EQ(OriginOf("http://[::1]/p").host, "::1");
  EXPECT_EQ(OriginOf("https://h:1?q").origin, "https://h:1");
  EXPECT_EQ(OriginOf("https://h").scheme, "https");
}

TEST(TransferFailureTest, NamesTheOriginNotTheQuery) {
  for (int kind = TransferFailure::kNoSuchHost; kind <= TransferFailure::kBroken; ++kind) {
    const absl::Status status = StatusOfFailure(Failure(static_cast<TransferFailure::Kind>(kind)));
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("https://b.example.com:8443"), Not(HasSubstr("secret=query"))));
    EXPECT_TRUE(StoreErrorOf(status).has_value());
    EXPECT_EQ(StoreErrorOf(status)->http_status, 0);
  }
}

TEST(TransferFailureTest, WhatAnotherAttemptCannotMendIsFinal) {
  const auto retryable = [](TransferFailure::Kind kind) {
    return IsRetryable(StatusOfFailure(Failure(kind)));
  };
  EXPECT_TRUE(retryable(TransferFailure::kNoSuchHost));
  EXPECT_TRUE(retryable(TransferFailure::kRefused));
  EXPECT_TRUE(retryable(TransferFailure::kTls));
  EXPECT_TRUE(retryable(TransferFailure::kCutOff));
  EXPECT_TRUE(retryable(TransferFailure::kBroken));
  EXPECT_FALSE(retryable(TransferFailure::kUntrusted));
  EXPECT_FALSE(retryable(TransferFailure::kBadCaFile));
  EXPECT_FALSE(retryable(TransferFailure::kNotHttp));
  EXPECT_FALSE(retryable(TransferFailure::kBadUrl));
}

TEST(TransferFailureTest, TheSystemsWordsAreBetterThanTheLibrarys) {
  TransferFailure failure = Failure(TransferFailure::kRefused);
  failure.os_error = ECONNREFUSED;
  EXPECT_THAT(StatusOfFailure(failure),
              StatusIs(absl::StatusCode::kUnavailable,
                       "cannot reach https://b.example.com:8443: Connection refused"));
}

TEST(TransferFailureTest, AProxysRefusalIsNamed) {
  TransferFailure failure = Failure(TransferFailure::kBroken);
  failure.proxy = "http://u:password@proxy:3128";
  failure.proxy_answer = 407;
  const absl::Status refused = StatusOfFailure(failure);
  EXPECT_THAT(
      std::string(refused.message()),
      AllOf(HasSubstr("the proxy http://proxy:3128 answered 407; check proxy="), Not(HasSubstr("password"))));
  EXPECT_FALSE(IsRetryable(refused));
  failure.proxy_answer = 502;
  EXPECT_TRUE(IsRetryable(StatusOfFailure(failure)));
}

TEST(TransferWatchTest, EachPhaseHasItsLimit) {
  const TransferLimits limits = {absl::Seconds(5), absl::Seconds(20), absl::Seconds(10)};
  const auto late = [&](const TransferWatch& watch, int seconds) {
    return watch.Late(absl::Seconds(seconds), limits, absl::Seconds(100)).value_or("");
  };
  TransferWatch watch;
  watch.Begin(absl::Seconds(0));
  EXPECT_EQ(late(watch, 50), "") << "the library keeps the limit for connecting";
  watch.Connected(absl::Seconds(4));
  EXPECT_EQ(late(watch, 24), "");
  EXPECT_EQ(late(watch, 25), "no answer within 20s");
  watch.Received(absl::Seconds(24));
  EXPECT_EQ(late(watch, 34), "");
  EXPECT_EQ(late(watch, 35), "the answer stalled for 10s");
  watch.Received(absl::Seconds(100));
  EXPECT_EQ(late(watch, 101), "not done within 1m40s");
}

}  // namespace
}  // namespace bucketvol
