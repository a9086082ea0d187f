#include "mounter/base/log.h"

#include <unistd.h>

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(PrintableTest, KeepsTextAndEscapesTheRest) {
  EXPECT_EQ(Printable("plain/key-1.txt"), "plain/key-1.txt");
  EXPECT_EQ(Printable("grüße/日本"), "grüße/日本");
  EXPECT_EQ(Printable(std::string("a\nb\0c", 5)), "a\\x0ab\\x00c");
  EXPECT_EQ(Printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(Printable("\x1b[31m"), "\\x1b[31m");
}

TEST(PrintableTest, CutsLongInput) { EXPECT_EQ(Printable(std::string(1000, 'a'), 10), "aaaaaaaaaa…"); }

TEST(LogTest, OneLinePerMessageWhateverItHolds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  SetLogging({.level = LogLevel::kInfo, .format = LogFormat::kJson, .fd = ends[1]});
  LogInfo("key \"x\" holds ", "\n", " and ends");
  LogDebug("not shown");
  SetLogging({});
  close(ends[1]);
  char buffer[1000];
  const ssize_t got = read(ends[0], buffer, sizeof buffer);
  close(ends[0]);
  const std::string line(buffer, static_cast<size_t>(got));
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_NE(line.find("\"message\":\"key \\\"x\\\" holds \\\\x0a and ends\""), std::string::npos) << line;
}

}  // namespace
}  // namespace bucketvol
