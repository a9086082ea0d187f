// What a service may do wrong, and what becomes of it.

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/objstore/store_error.h"
#include "test/index/lister_fixture.h"
#include "test/support/status_matchers.h"

namespace bucketvol::testing {
namespace {

using ::testing::_;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::vector<std::string> Counters(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(absl::StrCat("n/", absl::Dec(i, absl::kZeroPad6)));
  return keys;
}

using Fault = std::function<absl::Status(const ListRequest&, ListPage&)>;

class ListerFaultTest : public ::testing::Test {
 protected:
  ListerFaultTest() { rig_.Put(keys_); }

  absl::Status Run() {
    return rig_.Run({.prefix = "n/", .page_keys = 10, .min_streams = 4, .max_streams = 16});
  }

  // Spoils the first `times` answers to each request behind the middle of the bucket.
  void Spoil(int times, Fault fault) {
    rig_.store.SetListFault([this, times, fault](const ListRequest& request, ListPage& page) {
      if (!request.delimiter.empty() || request.start_after < "n/0005") return absl::OkStatus();
      const int seen = ++answers_[request.start_after + request.continuation_token];
      return seen <= times ? fault(request, page) : absl::OkStatus();
    });
  }
  void SpoilForEver(Fault fault) { Spoil(1'000'000, std::move(fault)); }

  void ExpectSurvivesTwice(const Fault& fault) {
    Spoil(2, fault);
    EXPECT_OK(Run());
    EXPECT_EQ(rig_.sink.keys, keys_);
    EXPECT_EQ(rig_.sink.wrong_metadata, 0u);
  }

  const std::vector<std::string> keys_ = Counters(1000);
  ListerRig rig_;
  std::map<std::string, int> answers_;
};

absl::Status Empty(const ListRequest&, ListPage& page) {
  page.objects.clear();
  page.truncated = true;
  page.next_token.clear();
  return absl::OkStatus();
}

absl::Status Swap(const ListRequest&, ListPage& page) {
  if (page.objects.size() > 1) std::swap(page.objects[0], page.objects[1]);
  return absl::OkStatus();
}

absl::Status Double(const ListRequest&, ListPage& page) {
  if (page.objects.size() > 1) page.objects[1] = page.objects[0];
  return absl::OkStatus();
}

absl::Status FromTheBeginning(const ListRequest&, ListPage& page) {
  if (!page.objects.empty()) page.objects.front().key = "n/000000";
  return absl::OkStatus();
}

absl::Status OutsideThePrefix(const ListRequest&, ListPage& page) {
  if (!page.objects.empty()) page.objects.back().key = "z";
  return absl::OkStatus();
}

absl::Status EndsEarly(const ListRequest&, ListPage& page) {
  page.truncated = false;
  return absl::OkStatus();
}

TEST_F(ListerFaultTest, EmptyPageThatSaysThereIsMore) { ExpectSurvivesTwice(Empty); }
TEST_F(ListerFaultTest, KeysOutOfOrder) { ExpectSurvivesTwice(Swap); }
TEST_F(ListerFaultTest, KeyTwiceInAPage) { ExpectSurvivesTwice(Double); }
TEST_F(ListerFaultTest, PageFromTheBeginning) { ExpectSurvivesTwice(FromTheBeginning); }
TEST_F(ListerFaultTest, KeyOutsideThePrefix) { ExpectSurvivesTwice(OutsideThePrefix); }
TEST_F(ListerFaultTest, ErrorsWorthRetrying) {
  ExpectSurvivesTwice([](const ListRequest&, ListPage&) { return absl::UnavailableError("reset"); });
}

TEST_F(ListerFaultTest, EmptyForEverIsAnError) {
  SpoilForEver(Empty);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("lists none after \"n/000")));
}

TEST_F(ListerFaultTest, OutOfOrderForEverIsAnError) {
  SpoilForEver(Swap);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kDataLoss,
                              AllOf(HasSubstr("does not list keys in byte order"), HasSubstr("n/000"))));
}

TEST_F(ListerFaultTest, RepeatedForEverIsAnError) {
  SpoilForEver(FromTheBeginning);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("repeated a key")));
}

TEST_F(ListerFaultTest, OutsideThePrefixForEverIsAnError) {
  SpoilForEver(OutsideThePrefix);
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("outside of the prefix \"n/\": \"z\"")));
}

TEST_F(ListerFaultTest, FaultyRequestIsAskedThreeTimes) {
  SpoilForEver(Swap);
  EXPECT_FALSE(Run().ok());
  int most = 0;
  for (const auto& [request, count] : answers_) most = std::max(most, count);
  EXPECT_EQ(most, 3);
}

// "This is the end" in the middle of the bucket is noticed once keys have been seen behind it.
TEST_F(ListerFaultTest, EndBeforeKeysThatHaveBeenSeen) {
  bool spoilt = false;
  rig_.store.SetListFault([&](const ListRequest& request, ListPage& page) {
    const bool seen_behind = rig_.lister->progress().keys > 100;
    if (spoilt || !seen_behind || !page.truncated || !request.delimiter.empty()) return absl::OkStatus();
    if (page.objects.empty() || page.objects.back().key > "n/0003") return absl::OkStatus();
    spoilt = true;
    return EndsEarly(request, page);
  });
  EXPECT_OK(Run());
  EXPECT_TRUE(spoilt);
  EXPECT_EQ(rig_.sink.keys, keys_);
}

TEST_F(ListerFaultTest, EmptyPagesWithTokensLeadOn) {
  // As a service does that passes over deleted keys: start-after finds nothing, the token goes on.
  rig_.store.SetListFault([](const ListRequest& request, ListPage& page) {
    if (request.continuation_token.empty() && absl::EndsWith(request.start_after, "9")) {
      page.objects.clear();
      page.next_token = absl::StrCat("from:", request.start_after, "!");
      page.truncated = true;
    }
    return absl::OkStatus();
  });
  EXPECT_OK(Run());
  EXPECT_EQ(rig_.sink.keys, keys_);
}

TEST_F(ListerFaultTest, RetryableErrorForEverIsGivenUpWithTheServicesWords) {
  SpoilForEver([](const ListRequest&, ListPage&) {
    return MakeStoreStatus(
        absl::StatusCode::kUnavailable, "list",
        {.http_status = 500, .code = "InternalError", .message = "try later", .retryable = true});
  });
  const absl::Status status = Run();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("try later")));
  ASSERT_TRUE(StoreErrorOf(status).has_value());
  EXPECT_EQ(StoreErrorOf(status)->code, "InternalError");
}

TEST_F(ListerFaultTest, FinalErrorEndsAtOnce) {
  rig_.store.SetListFault(
      [](const ListRequest&, ListPage&) { return absl::PermissionDeniedError("AccessDenied"); });
  EXPECT_THAT(Run(), StatusIs(absl::StatusCode::kPermissionDenied, "AccessDenied"));
  EXPECT_LE(rig_.lists(), 2u);
}

TEST_F(ListerFaultTest, LandmarksAreNotNeeded) {
  rig_.store.SetListFault([](const ListRequest& request, ListPage&) {
    return request.delimiter.empty() ? absl::OkStatus() : absl::InvalidArgumentError("no delimiter here");
  });
  EXPECT_OK(Run());
  EXPECT_EQ(rig_.sink.keys, keys_);
}

// Some services refuse a start-after that is no key.
TEST_F(ListerFaultTest, PointsThatTheServiceRefuses) {
  const std::set<std::string> known(keys_.begin(), keys_.end());
  rig_.store.SetListFault([&](const ListRequest& request, ListPage&) {
    const bool fine = request.start_after.empty() || known.count(request.start_after) > 0;
    return fine ? absl::OkStatus() : absl::InvalidArgumentError("odd start-after");
  });
  EXPECT_OK(Run());
  EXPECT_EQ(rig_.sink.keys, keys_);
}

// Others know only their own tokens.
TEST_F(ListerFaultTest, StartAfterThatTheServiceRefuses) {
  rig_.store.SetListFault([&](const ListRequest& request, ListPage&) {
    return request.start_after.empty() ? absl::OkStatus() : absl::InvalidArgumentError("no start-after here");
  });
  EXPECT_OK(Run());
  EXPECT_EQ(rig_.sink.keys, keys_);
}

// A page that takes much longer than all others is asked for again.
TEST_F(ListerFaultTest, LostAnswerIsNotWaitedFor) {
  std::atomic<int> requests{0};
  rig_.store.SetLatency(
      [&](const FakeRequest&) { return ++requests == 80 ? absl::Hours(10) : absl::Milliseconds(100); });
  EXPECT_OK(Run());
  EXPECT_EQ(rig_.sink.keys, keys_);
  EXPECT_LT(rig_.time.Elapsed(), absl::Seconds(30));
}

// A service that becomes slow for good is not given up.
TEST_F(ListerFaultTest, SlownessIsLearned) {
  std::atomic<int> requests{0};
  rig_.store.SetLatency(
      [&](const FakeRequest&) { return ++requests < 70 ? absl::Milliseconds(100) : absl::Seconds(5); });
  EXPECT_OK(Run());
  EXPECT_EQ(rig_.sink.keys, keys_);
}

}  // namespace
}  // namespace bucketvol::testing
