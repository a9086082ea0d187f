// The small parts, each on its own.
#include <stdio.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/base/crc.h"
#include "test/bucketd/aws_chunked.h"
#include "test/bucketd/body_framing.h"
#include "test/bucketd/checksum.h"
#include "test/bucketd/conditions.h"
#include "test/bucketd/digest.h"
#include "test/bucketd/journal.h"
#include "test/bucketd/text.h"
#include "test/bucketd/units.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::bucketd {
namespace {

using ::bucketvol::testing::StatusIs;
using ::testing::_;
using ::testing::ElementsAre;

TEST(UnitsTest, ReadsSizesRatesDelays) {
  EXPECT_EQ(*ParseSize("100KB"), 100'000u);
  EXPECT_EQ(*ParseSize("4MiB"), 4u << 20);
  EXPECT_EQ(*ParseSize("1.5GB"), 1'500'000'000u);
  EXPECT_EQ(*ParseRate("50MB/s"), 50'000'000u);
  EXPECT_EQ(*ParseDelay("35ms"), absl::Milliseconds(35));
  EXPECT_EQ(*ParseDelay("2m"), absl::Minutes(2));
  for (const char* bad : {"", "KB", "1 KB", "-1", "1kb", "1XB", "1e3"})
    EXPECT_FALSE(ParseSize(bad).ok()) << bad;
  for (const char* bad : {"", "5", "ms", "5h", "-5s"}) EXPECT_FALSE(ParseDelay(bad).ok()) << bad;
}

TEST(TextTest, PercentCodingKeepsEveryByte) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(PercentDecode(PercentEncode(all, "/")), all);
  EXPECT_EQ(PercentDecode(PercentEncode(all), /*plus_is_space=*/true), all);
  EXPECT_EQ(PercentEncode("a/b c~\xff", "/"), "a/b%20c~%FF");
  EXPECT_EQ(PercentDecode("%zz%4"), "%zz%4");
}

TEST(TextTest, WritesTimes) {
  EXPECT_EQ(IsoTime(1'330'073'287), "2012-02-24T08:48:07.000Z");
  EXPECT_EQ(HttpTime(1'330'073'287), "Fri, 24 Feb 2012 08:48:07 GMT");
  EXPECT_EQ(IsoTime(951'782'400), "2000-02-29T00:00:00.000Z");
  EXPECT_EQ(IsoTime(0), "1970-01-01T00:00:00.000Z");
}

TEST(TextTest, ReadsTheThreeFormsOfHttpDates) {
  for (const char* text :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    int64_t when = 0;
    EXPECT_TRUE(ParseHttpTime(text, when)) << text;
    EXPECT_EQ(when, 784'111'777) << text;
  }
  int64_t unused = 0;
  EXPECT_FALSE(ParseHttpTime("yesterday", unused));
  EXPECT_FALSE(ParseHttpTime("", unused));
}

TEST(TextTest, JsonStaysUtf8) {
  std::string json;
  AppendJsonEscaped(json, "a\"\\\n\x01\xc3\xa9\xff\xc3");
  EXPECT_EQ(json, "a\\\"\\\\\\u000a\\u0001\xc3\xa9\\u00ff\\u00c3");
}

TEST(TextTest, WritesNumbers) {
  char buffer[32];
  EXPECT_EQ(std::string(buffer, WriteDecimal(18'446'744'073'709'551'615u, buffer)), "18446744073709551615");
  EXPECT_EQ(std::string(buffer, WriteDecimal(0, buffer)), "0");
  EXPECT_EQ(std::string(buffer, WritePadded(42, 5, buffer)), "00042");
  EXPECT_EQ(std::string(buffer, WriteHex64(0xabcdef, buffer, true)), "0000000000ABCDEF");
}

TEST(DigestTest, CombinesCrcs) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string tail = text.substr(cut);
    EXPECT_EQ(CombineCrc64(Crc64(0, text.substr(0, cut)), Crc64(0, tail), tail.size()), Crc64(0, text));
  }
}

// The check values of the CRC catalogue, and of RFC 3174 and FIPS 180-2.
TEST(ChecksumTest, MatchesPublishedValues) {
  const auto of = [](const char* name, const char* text) {
    std::unique_ptr<Checksum> checksum = Checksum::Make(name);
    checksum->Update(text);
    std::string raw;
    EXPECT_TRUE(absl::Base64Unescape(checksum->Finish(), &raw));
    return HexLower(raw);
  };
  EXPECT_EQ(of("crc32", "123456789"), "cbf43926");
  EXPECT_EQ(of("crc32c", "123456789"), "e3069283");
  EXPECT_EQ(of("crc64nvme", "123456789"), "ae8b14860a799888");
  EXPECT_EQ(of("sha1", "abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(of("sha256", "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Checksum::Make("md4"), nullptr);
}

// Feeds `wire` in pieces of every size.
template <typename Feed>
void InPieces(const std::string& wire, const Feed& feed) {
  for (const size_t step : {size_t{1}, size_t{2}, size_t{7}, wire.size()}) feed(step);
}

TEST(BodyFramingTest, DecodesChunksHoweverTheyArrive) {
  const std::string wire = "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\nTrailer: x\r\n\r\nNEXT";
  InPieces(wire, [&wire](size_t step) {
    BodyFraming framing = BodyFraming::Chunked();
    std::string body;
    size_t eaten = 0;
    for (size_t at = 0; at < wire.size() && framing.state() == BodyFraming::State::kMore; at += step) {
      eaten += framing.Consume(absl::string_view(wire).substr(at, step),
                               [&](absl::string_view data) { absl::StrAppend(&body, data); });
    }
    EXPECT_EQ(body, "hello world");
    EXPECT_EQ(framing.state(), BodyFraming::State::kDone);
    EXPECT_EQ(wire.substr(eaten), "NEXT");
  });
}

TEST(BodyFramingTest, StopsAtTheLength) {
  BodyFraming framing = BodyFraming::Sized(3);
  std::string body;
  EXPECT_EQ(framing.Consume("abcdef", [&](absl::string_view data) { absl::StrAppend(&body, data); }), 3u);
  EXPECT_EQ(body, "abc");
  EXPECT_EQ(framing.state(), BodyFraming::State::kDone);
}

TEST(BodyFramingTest, RefusesWhatIsNoChunk) {
  for (const char* wire : {"zz\r\n", "\r\n", "3\r\nabcX\r\n", "5x\r\n"}) {
    BodyFraming framing = BodyFraming::Chunked();
    framing.Consume(wire, [](absl::string_view) {});
    EXPECT_EQ(framing.state(), BodyFraming::State::kBroken) << wire;
  }
}

// The example of AWS, "Signature Calculations for the Authorization Header: Transferring Payload in Multiple
// Chunks".
class AwsExampleTest : public ::testing::Test {
 protected:
  static ChunkSigner Signer() {
    const Scope scope = {"20130524", "us-east-1", "s3", "aws4_request"};
    return {SigningKey("AWS4", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", scope), "20130524T000000Z", scope,
            "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"};
  }
  static std::string Wire() {
    return absl::StrCat(
        "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n",
        std::string(65536, 'a'),
        "\r\n400;chunk-signature=0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497\r\n",
        std::string(1024, 'a'),
        "\r\n0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n");
  }
  static AwsChunkedDecoder::State Decode(const std::string& wire, size_t step, std::string& body) {
    AwsChunkedDecoder decoder(Signer());
    for (size_t at = 0; at < wire.size(); at += step) {
      decoder.Consume(absl::string_view(wire).substr(at, step),
                      [&](absl::string_view data) { absl::StrAppend(&body, data); });
    }
    return decoder.state();
  }
};

TEST_F(AwsExampleTest, DecodesAndVerifies) {
  InPieces(Wire(), [](size_t step) {
    std::string body;
    EXPECT_EQ(Decode(Wire(), step, body), AwsChunkedDecoder::State::kDone);
    EXPECT_EQ(body, std::string(66560, 'a'));
  });
}

TEST_F(AwsExampleTest, TellsAChangedByte) {
  std::string wire = Wire();
  wire.at(66'000) = 'b';
  std::string body;
  EXPECT_EQ(Decode(wire, wire.size(), body), AwsChunkedDecoder::State::kBadSignature);
}

TEST_F(AwsExampleTest, TellsACutBody) {
  const std::string wire = Wire();
  std::string body;
  EXPECT_EQ(Decode(wire.substr(0, wire.size() - 2), wire.size(), body), AwsChunkedDecoder::State::kMore);
}

TEST(AwsChunkedTest, GivesTrailers) {
  AwsChunkedDecoder decoder(std::nullopt);
  std::string body;
  decoder.Consume("3\r\nabc\r\n0\r\nX-Amz-Checksum-CRC32: Zm9v \r\n\r\n",
                  [&](absl::string_view data) { absl::StrAppend(&body, data); });
  EXPECT_EQ(decoder.state(), AwsChunkedDecoder::State::kDone);
  EXPECT_EQ(body, "abc");
  EXPECT_THAT(decoder.trailers(),
              ElementsAre(std::pair<std::string, std::string>("x-amz-checksum-crc32", "Zm9v")));
}

TEST(ConditionsTest, ComparesEtagsLoosely) {
  EXPECT_TRUE(EtagListContains("\"ABC\"", "abc"));
  EXPECT_TRUE(EtagListContains("\"x\", \"abc\"", "abc"));
  EXPECT_TRUE(EtagListContains("*", "abc"));
  EXPECT_FALSE(EtagListContains("\"ab\"", "abc"));
}

class JournalTest : public ::testing::Test {
 protected:
  std::vector<std::string> Replay() {
    std::vector<std::string> entries;
    const auto journal = Journal::Open(path_, [&](absl::string_view entry) { entries.emplace_back(entry); });
    EXPECT_TRUE(journal.ok()) << journal.status();
    return entries;
  }
  bucketvol::testing::TempDir temp_;
  const std::string path_ = temp_ / "journal";
};

TEST_F(JournalTest, ReplaysInOrderAndDropsAHalfEntry) {
  {
    auto journal = Journal::Open(path_, [](absl::string_view) {});
    ASSERT_OK(journal->Append("one"));
    ASSERT_OK(journal->Append(std::string("t\0o", 3)));
    ASSERT_OK(journal->Append("three"));
  }
  ASSERT_EQ(truncate(path_.c_str(), 18 + 3 * 8 + 3 + 3 + 4), 0);
  EXPECT_THAT(Replay(), ElementsAre("one", std::string("t\0o", 3)));
  auto journal = Journal::Open(path_, [](absl::string_view) {});
  ASSERT_OK(journal->Append("four"));
  EXPECT_THAT(Replay(), ElementsAre("one", std::string("t\0o", 3), "four"));
}

TEST_F(JournalTest, RefusesAnotherVersion) {
  auto journal = Journal::Rewrite(path_, [](absl::FunctionRef<void(absl::string_view)>) {});
  ASSERT_OK(journal);
  FILE* file = fopen(path_.c_str(), "w");
  fputs("bucketd journal 2\n", file);
  fclose(file);
  EXPECT_THAT(Journal::Open(path_, [](absl::string_view) {}).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, _));
}

}  // namespace
}  // namespace bucketvol::bucketd
