// Faults, delays, and HTTP itself.
#include "absl/strings/match.h"
#include "test/bucketd/service_fixture.h"

namespace bucketvol::bucketd {
namespace {

using ::testing::HasSubstr;

TEST_F(ServiceTest, ErrorFaultsSpeakTheDialect) {
  service_.Config(
      "fault=op=GET,kind=503,count=1\nfault=op=GET,kind=500,count=1\nfault=op=GET,kind=expired-token,count="
      "1");
  EXPECT_EQ(CodeOf(Get()), "503 SlowDown");
  EXPECT_EQ(CodeOf(Get(Oss())), "500 InternalError");
  EXPECT_EQ(CodeOf(Get()), "400 ExpiredToken");
  EXPECT_EQ(Get().status, 200);
}

TEST_F(ServiceTest, LimitsOfTheAccountSpeakTheDialect) {
  service_.Config("fault=kind=bandwidth,count=2\nfault=kind=too-many-open,count=2");
  EXPECT_EQ(CodeOf(Get(Oss())), "503 DownloadTrafficRateLimitExceeded");
  EXPECT_EQ(CodeOf(Get()), "503 SlowDown");
  EXPECT_EQ(CodeOf(Get(Oss())), "503 ActiveRequestLimitExceeded");
  EXPECT_EQ(CodeOf(Get()), "503 SlowDown");
}

TEST_F(ServiceTest, TruncateAndResetCutTheBody) {
  service_.Config("fault=kind=truncate,count=1\nfault=kind=reset,count=1");
  const HttpAnswer cut = Get();
  EXPECT_EQ(cut.Header("content-length"), "1000");
  EXPECT_FALSE(cut.complete);
  EXPECT_FALSE(cut.reset);
  EXPECT_EQ(cut.body, Expected(Key()).substr(0, 500));
  const HttpAnswer reset = Get();
  EXPECT_FALSE(reset.complete);
  EXPECT_TRUE(reset.reset);
}

TEST_F(ServiceTest, WrongBytesKeepTheLength) {
  service_.Config("fault=kind=wrong-bytes,count=2");
  const HttpAnswer answer = Get();
  EXPECT_EQ(answer.body.size(), 1000u);
  EXPECT_NE(answer.body, Expected(Key()));
  EXPECT_NE(Get({{"Range", "bytes=700-700"}}).body, Expected(Key()).substr(700, 1));
  EXPECT_EQ(Get().body, Expected(Key()));
}

TEST_F(ServiceTest, WrongEtagPassesIfMatch) {
  const std::string etag = Get().Header("etag");
  service_.Config("fault=kind=wrong-etag,count=1");
  const HttpAnswer answer = Get({{"If-Match", etag}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.Header("etag"), etag);
}

TEST_F(ServiceTest, WrongLengthLiesInTurn) {
  service_.Config("fault=kind=wrong-length,count=2");
  const HttpAnswer half = Get({{"Range", "bytes=0-99"}});
  EXPECT_EQ(half.Header("content-range"), "bytes 0-99/1000");
  EXPECT_EQ(half.Header("content-length"), "50");
  EXPECT_TRUE(half.complete);
  const HttpAnswer total = Get({{"Range", "bytes=0-99"}});
  EXPECT_EQ(total.Header("content-range"), "bytes 0-99/11000");
  EXPECT_EQ(total.body.size(), 100u);
}

TEST_F(ServiceTest, HtmlInsteadOfXml) {
  service_.Config("fault=op=LIST,kind=html");
  const HttpAnswer answer = service_.Get("/syn/?list-type=2");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("<html>"));
}

// One thread only: a delayed answer must not hold up another.
TEST_F(ServiceTest, DelaysBlockNobody) {
  service_.Config("fault=op=GET,kind=stall:60s,count=1\nfirst-byte=1ms");
  HttpClient stalled(service_.port());
  stalled.Send("GET /syn/" + Key() + " HTTP/1.1\r\nHost: a\r\n\r\n");
  while (!stalled.HasInput()) {
  }
  EXPECT_EQ(Get().status, 200);
  EXPECT_THAT(service_.Get("/-/stats").body, HasSubstr("\"in_flight\":1"));
}

TEST_F(ServiceTest, CapsSlowDownButLoseNothing) {
  service_.Config("per-connection=200KB/s\ntotal=100KB/s\nprofile=zero");
  service_.Config("per-connection=200KB/s");
  EXPECT_EQ(Get().body, Expected(Key()));
}

TEST_F(ServiceTest, GoneClientsAreForgotten) {
  service_.Config("first-byte=60s");
  {
    HttpClient client(service_.port());
    client.Send("GET /syn/" + Key() + " HTTP/1.1\r\nHost: a\r\n\r\n");
    while (!absl::StrContains(service_.Get("/-/stats").body, "\"in_flight\":1")) {
    }
  }
  while (!absl::StrContains(service_.Get("/-/stats").body, "\"in_flight\":0")) {
  }
}

TEST_F(ServiceTest, PipelinedRequestsAreAnsweredInOrder) {
  HttpClient client(service_.port());
  client.Send("GET /syn/" + Key(1) + " HTTP/1.1\r\nHost: a\r\n\r\nGET /syn/" + Key(2) +
              " HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.Receive().body, Expected(Key(1)));
  EXPECT_EQ(client.Receive().body, Expected(Key(2)));
}

TEST_F(ServiceTest, ChunkedUploadsAreRead) {
  HttpClient client(service_.port());
  client.Send(
      "PUT /bucket/k HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_EQ(client.Get("/bucket/k").body, "abcde");
}

TEST_F(ServiceTest, ContinueComesOnlyWhenTheBodyIsWanted) {
  HttpClient client(service_.port());
  client.Send("PUT /bucket/k HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 100);
  client.Send("abc");
  EXPECT_EQ(client.Receive().status, 200);
  HttpClient refused(service_.port());
  refused.Send("PUT /nobucket/k HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(refused.Receive().status, 404);
}

TEST_F(ServiceTest, GarbageIsAnsweredAndTheConnectionClosed) {
  for (const char* bytes :
       {"HELLO\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET x HTTP/1.1\r\n\r\n", "PUT /bucket/k HTTP/1.1\r\nContent-Length: x\r\n\r\n"}) {
    HttpClient client(service_.port());
    client.Send(bytes);
    const HttpAnswer answer = client.Receive();
    EXPECT_EQ(answer.status, 400) << bytes;
    EXPECT_EQ(answer.Header("connection"), "close");
  }
  HttpClient client(service_.port());
  client.Send("GET /" + std::string(100'000, 'x'));
  EXPECT_EQ(client.Receive().status, 431);
}

}  // namespace
}  // namespace bucketvol::bucketd
