// The calls under /-/.
#include "test/bucketd/service_fixture.h"

namespace bucketvol::bucketd {
namespace {

using ::testing::HasSubstr;

TEST_F(ServiceTest, CountsWhatItServes) {
  Get();
  service_.Do("HEAD", "/syn/" + Key());
  service_.Get("/syn/?list-type=2&max-keys=1");
  service_.Do("PUT", "/bucket/k", {}, "12345");
  const std::string stats = service_.Get("/-/stats").body;
  EXPECT_THAT(stats, HasSubstr("\"GET\":1,\"HEAD\":1,\"LIST\":1,\"PUT\":1"));
  EXPECT_THAT(stats, HasSubstr("\"bytes_in\":5"));
  EXPECT_THAT(stats, HasSubstr("\"in_flight_peak\":1"));
  ASSERT_EQ(service_.Do("POST", "/-/reset").status, 200);
  EXPECT_THAT(service_.Get("/-/stats").body, HasSubstr("\"GET\":0,\"HEAD\":0,\"LIST\":0,\"PUT\":0"));
}

TEST_F(ServiceTest, LogsRequestsInOrderOfArrival) {
  Get({{"Range", "bytes=0-4"}});
  service_.Get("/syn/none%22%01");
  const std::string log = service_.Get("/-/log?n=2").body;
  EXPECT_THAT(log, HasSubstr("\"key\":\"" + Key() +
                             "\",\"range\":\"bytes=0-4\",\"query\":\"\",\"status\":206,\"bytes\":5}"));
  EXPECT_LT(log.find("\"status\":206"), log.find("\"key\":\"none\\\"\\u0001\""));
  EXPECT_EQ(service_.Get("/-/log?n=1").body.find("206"), std::string::npos);
}

TEST_F(ServiceTest, BadConfigurationChangesNothing) {
  const HttpAnswer answer = service_.Do("POST", "/-/config", {}, "fault=op=GET,kind=503\nfirst-byte=soon\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("--first-byte: not a time"));
  EXPECT_EQ(Get().status, 200);
  EXPECT_EQ(service_.Do("POST", "/-/config", {}, "fault=op=GET,kind=503\n").status, 200);
  EXPECT_EQ(Get().status, 503);
  EXPECT_EQ(service_.Do("POST", "/-/config", {}, "fault=none").status, 200);
  EXPECT_EQ(Get().status, 200);
}

}  // namespace
}  // namespace bucketvol::bucketd
