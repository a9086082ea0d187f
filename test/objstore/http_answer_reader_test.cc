#include "mounter/objstore/http_answer_reader.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace bucketvol {
namespace {

using State = HttpAnswerReader::State;

// Writes down what it is given.
class Notes final : public HttpResponseSink {
 public:
  bool OnHead(const HttpResponseHead& head) override {
    text += absl::StrCat("<", head.status(), " ", head.Value("x-a"), ">");
    return wants_body;
  }
  bool OnBody(absl::Span<const char> data) override {
    text.append(data.data(), data.size());
    return text.size() < most;
  }
  void OnDone(absl::Status) override { ADD_FAILURE() << "not the reader's to call"; }

  std::string text;
  bool wants_body = true;
  size_t most = 1000;
};

struct Reading {
  State state;
  std::string text;
  bool reusable;
  friend bool operator==(const Reading&, const Reading&) = default;
  friend void PrintTo(const Reading& r, std::ostream* out) {
    *out << static_cast<int>(r.state) << " " << r.text << " " << r.reusable;
  }
};

Reading Read(absl::string_view bytes, size_t step, HttpMethod method = HttpMethod::kGet) {
  HttpAnswerReader reader;
  Notes notes;
  reader.Begin(method, &notes);
  State state = State::kGoesOn;
  for (size_t at = 0; at < bytes.size() && state == State::kGoesOn; at += step)
    state = reader.Take(bytes.substr(at, step));
  return {state, notes.text, reader.reusable()};
}

// The same however the bytes are cut.
Reading ReadInPieces(absl::string_view bytes, HttpMethod method = HttpMethod::kGet) {
  const Reading whole = Read(bytes, bytes.size(), method);
  for (const size_t step : {1, 2, 3, 7}) EXPECT_EQ(Read(bytes, step, method), whole) << step;
  return whole;
}

TEST(HttpAnswerReaderTest, ReadsABodyOfKnownLength) {
  EXPECT_EQ(ReadInPieces("HTTP/1.1 200 OK\r\nX-A: v\r\nContent-Length: 5\r\n\r\nhello"),
            (Reading{State::kWhole, "<200 v>hello", true}));
  EXPECT_EQ(ReadInPieces("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"),
            (Reading{State::kGoesOn, "<200 >hell", true}));
  EXPECT_EQ(ReadInPieces("HTTP/1.1 404 No\nContent-Length: 0\n\n"), (Reading{State::kWhole, "<404 >", true}));
}

TEST(HttpAnswerReaderTest, ReadsChunks) {
  EXPECT_EQ(ReadInPieces("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\nContent-Length: 1\r\n\r\n"
                         "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n"),
            (Reading{State::kWhole, "<200 >abc0123456789", true}));
  for (const char* bad :
       {"x\r\n", "\r\n", "-1\r\n", "0x3\r\nabc\r\n", "1\r\nab\r\n", "1111111111111111\r\n"}) {
    EXPECT_EQ(Read(absl::StrCat("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", bad), 1000).state,
              State::kNotHttp)
        << bad;
  }
}

TEST(HttpAnswerReaderTest, SomeAnswersHaveNoBody) {
  EXPECT_EQ(ReadInPieces("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", HttpMethod::kHead),
            (Reading{State::kWhole, "<200 >", true}));
  EXPECT_EQ(ReadInPieces("HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n"),
            (Reading{State::kWhole, "<304 >", true}));
  EXPECT_EQ(ReadInPieces("HTTP/1.1 204 None\r\n\r\n"), (Reading{State::kWhole, "<204 >", true}));
}

TEST(HttpAnswerReaderTest, AnInterimAnswerIsPassedOver) {
  EXPECT_EQ(ReadInPieces("HTTP/1.1 103 Early\r\nX-A: w\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz"),
            (Reading{State::kWhole, "<200 >z", true}));
}

TEST(HttpAnswerReaderTest, ABodyWithoutLengthEndsWithTheConnection) {
  HttpAnswerReader reader;
  Notes notes;
  reader.Begin(HttpMethod::kGet, &notes);
  EXPECT_FALSE(reader.begun());
  EXPECT_EQ(reader.Take(absl::string_view("HTTP/1.1 200 OK\r\n\r\nsome")), State::kGoesOn);
  EXPECT_TRUE(reader.begun());
  EXPECT_EQ(reader.TakeEnd(), State::kWhole);
  EXPECT_EQ(notes.text, "<200 >some");
  EXPECT_FALSE(reader.reusable());
}

TEST(HttpAnswerReaderTest, AnEndWithinTheAnswerCutsItOff) {
  for (const absl::string_view bytes : {"HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
                                        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"}) {
    HttpAnswerReader reader;
    Notes notes;
    reader.Begin(HttpMethod::kGet, &notes);
    EXPECT_EQ(reader.Take(bytes), State::kGoesOn);
    EXPECT_EQ(reader.TakeEnd(), State::kCutOff);
  }
}

TEST(HttpAnswerReaderTest, SomeConnectionsCarryNoOtherRequest) {
  EXPECT_FALSE(ReadInPieces("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na").reusable);
  EXPECT_FALSE(
      ReadInPieces("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\na").reusable);
  EXPECT_FALSE(Read("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc", 1000).reusable);
}

TEST(HttpAnswerReaderTest, WhatIsNoHttpIsRefused) {
  for (const char* bad : {"SSH-2.0-x\r\n", "HTTP/2 200\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "\r\n",
                          "\x15\x03\x01\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: br\r\n\r\n"}) {
    EXPECT_EQ(ReadInPieces(bad).state, State::kNotHttp) << bad;
  }
}

TEST(HttpAnswerReaderTest, AHeadWithoutEndIsRefused) {
  HttpAnswerReader reader;
  Notes notes;
  for (const std::string& piece :
       {std::string(10'000, 'x'), absl::StrCat("X: ", std::string(10'000, 'x'), "\n")}) {
    reader.Begin(HttpMethod::kGet, &notes);
    State state = reader.Take(absl::string_view("HTTP/1.1 200 OK\r\n"));
    for (int i = 0; i < 100 && state == State::kGoesOn; ++i) state = reader.Take(piece);
    EXPECT_EQ(state, State::kNotHttp);
  }
}

TEST(HttpAnswerReaderTest, TheSinkMayHaveHadEnough) {
  const absl::string_view bytes = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  HttpAnswerReader reader;
  Notes notes;
  notes.wants_body = false;
  reader.Begin(HttpMethod::kGet, &notes);
  EXPECT_EQ(reader.Take(bytes), State::kUnwanted);
  EXPECT_EQ(notes.text, "<200 >");
  Notes few;
  few.most = 8;
  reader.Begin(HttpMethod::kGet, &few);
  EXPECT_EQ(reader.Take(bytes.substr(0, bytes.size() - 3)), State::kUnwanted);
}

}  // namespace
}  // namespace bucketvol
