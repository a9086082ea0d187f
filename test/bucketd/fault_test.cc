#include "test/bucketd/fault.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/status_matchers.h"

namespace bucketvol::bucketd {
namespace {

using ::bucketvol::testing::StatusIs;
using ::testing::HasSubstr;

std::unique_ptr<FaultRule> Rule(const std::string& spec) {
  absl::StatusOr<std::unique_ptr<FaultRule>> rule = FaultRule::Parse(spec);
  EXPECT_TRUE(rule.ok()) << rule.status();
  return *std::move(rule);
}

FaultKind Ask(FaultRule& rule, OperationClass operation_class, const std::string& key, int second = 0) {
  return rule.Decide(operation_class, key, absl::Seconds(second), 1).kind;
}

TEST(FaultTest, MatchesOperationAndKey) {
  const auto rule = Rule("op=GET,key=^a/.*[.]jpg$,kind=503");
  EXPECT_EQ(Ask(*rule, OperationClass::kGet, "a/1.jpg"), FaultKind::kUnavailable);
  EXPECT_EQ(Ask(*rule, OperationClass::kHead, "a/1.jpg"), FaultKind::kNone);
  EXPECT_EQ(Ask(*rule, OperationClass::kGet, "b/1.jpg"), FaultKind::kNone);
}

TEST(FaultTest, RegexMayHoldCommasAndMatchesAnyBytes) {
  const auto rule = Rule("key=^x{2,3}$,kind=500,op=PUT");
  EXPECT_EQ(Ask(*rule, OperationClass::kPut, "xxx"), FaultKind::kInternalError);
  EXPECT_EQ(Ask(*rule, OperationClass::kPut, "xxxx"), FaultKind::kNone);
  const auto any = Rule("key=b$,kind=500");
  EXPECT_EQ(Ask(*any, OperationClass::kGet, std::string("a\0b", 3)), FaultKind::kInternalError);
}

TEST(FaultTest, StrikesCountTimes) {
  const auto rule = Rule("kind=reset,count=3");
  int struck = 0;
  for (int i = 0; i < 10; ++i) struck += Ask(*rule, OperationClass::kGet, "k") == FaultKind::kReset;
  EXPECT_EQ(struck, 3);
}

TEST(FaultTest, RateIsMetAndRepeatable) {
  const auto run = [](uint64_t seed) {
    const auto rule = Rule("kind=500,rate=0.25");
    std::string fate;
    for (int i = 0; i < 4000; ++i) {
      fate += rule->Decide(OperationClass::kGet, "k", absl::ZeroDuration(), seed).kind == FaultKind::kNone
                  ? '.'
                  : 'X';
    }
    return fate;
  };
  const std::string fate = run(7);
  EXPECT_NEAR(static_cast<double>(std::count(fate.begin(), fate.end(), 'X')), 1000, 120);
  EXPECT_EQ(fate, run(7));
  EXPECT_NE(fate, run(8));
}

TEST(FaultTest, QpsRefusesWhatIsAbove) {
  const auto rule = Rule("op=LIST,qps=2");
  EXPECT_EQ(Ask(*rule, OperationClass::kList, ""), FaultKind::kNone);
  EXPECT_EQ(Ask(*rule, OperationClass::kGet, ""), FaultKind::kNone);
  EXPECT_EQ(Ask(*rule, OperationClass::kList, ""), FaultKind::kNone);
  EXPECT_EQ(Ask(*rule, OperationClass::kList, ""), FaultKind::kTooMany);
  EXPECT_EQ(Ask(*rule, OperationClass::kList, "", 1), FaultKind::kNone);
}

TEST(FaultTest, ReadsArguments) {
  EXPECT_EQ(Rule("kind=stall:250ms")->Decide(OperationClass::kGet, "", absl::ZeroDuration(), 1).stall,
            absl::Milliseconds(250));
  EXPECT_EQ(Rule("kind=slow:10KB/s")->Decide(OperationClass::kGet, "", absl::ZeroDuration(), 1).rate,
            10'000u);
}

TEST(FaultTest, FirstRuleThatStrikesDecides) {
  std::vector<std::shared_ptr<FaultRule>> rules = {Rule("op=PUT,kind=500"), Rule("count=1,kind=503"),
                                                   Rule("kind=reset")};
  const auto decide = [&] {
    return DecideFault(rules, OperationClass::kGet, "k", absl::ZeroDuration(), 1).kind;
  };
  EXPECT_EQ(decide(), FaultKind::kUnavailable);
  EXPECT_EQ(decide(), FaultKind::kReset);
}

TEST(FaultTest, SaysWhatIsWrong) {
  const auto error = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(FaultRule::Parse("op=GET").status(), StatusIs(error, HasSubstr("neither kind= nor qps=")));
  EXPECT_THAT(FaultRule::Parse("kind=explode").status(), StatusIs(error, HasSubstr("wrong-bytes")));
  EXPECT_THAT(FaultRule::Parse("kind=503,rate=2").status(), StatusIs(error, HasSubstr("between 0 and 1")));
  EXPECT_THAT(FaultRule::Parse("kind=503,key=(").status(), StatusIs(error, HasSubstr("regular expression")));
  EXPECT_THAT(FaultRule::Parse("op=FETCH,kind=503").status(), StatusIs(error, HasSubstr("unknown op")));
  EXPECT_THAT(FaultRule::Parse("kind=bad-xml").status(), StatusIs(error, HasSubstr("op=LIST only")));
  EXPECT_THAT(FaultRule::Parse("kind=503:5s").status(), StatusIs(error, HasSubstr("only stall and slow")));
  EXPECT_THAT(FaultRule::Parse("sort=GET,kind=503").status(), StatusIs(error, HasSubstr("unknown word")));
}

}  // namespace
}  // namespace bucketvol::bucketd
