#include "mounter/objstore/http_transport.h"

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(HttpResponseHeadTest, ReadsStatusAndHeaders) {
  HttpResponseHead head;
  EXPECT_FALSE(head.TakeLine("HTTP/1.1 206 Partial Content\r\n"));
  EXPECT_FALSE(head.TakeLine("Content-Length:  42 \r\n"));
  EXPECT_FALSE(head.TakeLine("ETag:\"a:b\"\r\n"));
  EXPECT_FALSE(head.TakeLine("etag: second\r\n"));
  EXPECT_FALSE(head.TakeLine("no colon\r\n"));
  EXPECT_TRUE(head.TakeLine("\r\n"));
  EXPECT_EQ(head.status(), 206);
  EXPECT_EQ(head.ContentLength(), 42u);
  EXPECT_EQ(head.Find("etag"), "\"a:b\"");
  EXPECT_EQ(head.Find("absent"), std::nullopt);
  EXPECT_EQ(head.Value("absent"), "");
}

TEST(HttpResponseHeadTest, AnInterimAnswerIsNotTheAnswer) {
  HttpResponseHead head;
  head.TakeLine("HTTP/1.1 100 Continue\r\n");
  head.TakeLine("X-A: 1\r\n");
  EXPECT_FALSE(head.TakeLine("\r\n"));
  head.TakeLine("HTTP/1.1 200 OK\r\n");
  EXPECT_TRUE(head.TakeLine("\r\n"));
  EXPECT_EQ(head.status(), 200);
  EXPECT_EQ(head.Find("x-a"), std::nullopt);
}

TEST(HttpResponseHeadTest, NonsenseIsNoStatus) {
  HttpResponseHead head;
  for (const char* line : {"HTTP/1.1\r\n", "HTTP/1.1 abc\r\n", "HTTP/\r\n"}) {
    head.TakeLine(line);
    EXPECT_FALSE(head.TakeLine("\r\n")) << line;
  }
  head.TakeLine("HTTP/1.1 200 OK");
  head.TakeLine("Content-Length: -1");
  EXPECT_EQ(head.ContentLength(), std::nullopt);
}

}  // namespace
}  // namespace bucketvol
