#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "test/bench/load/expectation.h"
#include "test/bench/load/file_reader.h"
#include "test/bench/load/latency_histogram.h"
#include "test/bench/load/load_job.h"
#include "test/bench/load/work.h"
#include "test/bucketd/content.h"

namespace bucketvol::bench {
namespace {

using ::testing::HasSubstr;

TEST(LatencyHistogramTest, PercentilesAreWithinABucket) {
  const auto histogram = std::make_unique<LatencyHistogram>();
  for (uint64_t us = 1; us <= 1000; ++us) histogram->Add(us * 1000);
  EXPECT_EQ(histogram->count(), 1000u);
  EXPECT_EQ(histogram->max(), 1'000'000u);
  for (const double fraction : {0.01, 0.5, 0.95, 0.99}) {
    const double exact = fraction * 1e6;
    EXPECT_GE(static_cast<double>(histogram->Percentile(fraction)), exact);
    EXPECT_LE(static_cast<double>(histogram->Percentile(fraction)), exact * 1.016);
  }
  EXPECT_EQ(histogram->Percentile(1), 1'000'000u);
}

TEST(LatencyHistogramTest, HoldsTheSmallestAndTheLargest) {
  const auto histogram = std::make_unique<LatencyHistogram>();
  EXPECT_EQ(histogram->Percentile(0.5), 0u);
  histogram->Add(0);
  histogram->Add(63);
  histogram->Add(64);
  histogram->Add(UINT64_MAX);
  EXPECT_EQ(histogram->Percentile(0.25), 0u);
  EXPECT_EQ(histogram->Percentile(0.5), 63u);
  EXPECT_EQ(histogram->Percentile(0.75), 64u);
  EXPECT_EQ(histogram->Percentile(1), UINT64_MAX);
}

TEST(AccessesTest, AreDealtToTheirReaders) {
  const auto accesses = ParseAccesses("1 0 4096 10\n0 2 0 -\n1 1 5 6\n", 2, 3);
  ASSERT_TRUE(accesses.ok());
  ASSERT_EQ((*accesses)[0].size(), 1u);
  EXPECT_EQ((*accesses)[0][0].length, Access::kToEnd);
  ASSERT_EQ((*accesses)[1].size(), 2u);
  EXPECT_EQ((*accesses)[1][0].offset, 4096u);
  EXPECT_EQ((*accesses)[1][1].file, 1u);
}

TEST(AccessesTest, RefusesWhatIsNotOfTheJob) {
  for (const char* line : {"2 0 0 -", "0 3 0 -", "0 0 0", "0 0 x 1", "0 0 1 1 1"}) {
    EXPECT_THAT(std::string(ParseAccesses(line, 2, 3).status().message()), HasSubstr(line));
  }
}

/// A bucket's objects as files of a temporary directory.
class ReadTest : public ::testing::Test {
 protected:
  ReadTest() {
    char name[] = "/tmp/bucketvol-load-test-XXXXXX";
    job_.directory = mkdtemp(name);
    job_.files = {"a", "b"};
    job_.expected = bucketd::SyntheticSpec{.name = "s", .min_size = kSize, .max_size = kSize};
    for (const std::string& key : job_.files) {
      std::string content(kSize, '\0');
      bucketd::FillContent(bucketd::ObjectSeed(1, key), 0, content.data(), content.size());
      Write(key, content);
    }
  }
  ~ReadTest() override { std::filesystem::remove_all(job_.directory); }

  std::string Path(absl::string_view key) const { return absl::StrCat(job_.directory, "/", key); }
  void Write(absl::string_view key, const std::string& content) const {
    std::ofstream(Path(key), std::ios::binary) << content;
  }
  void Flip(absl::string_view key, uint64_t offset) const {
    std::fstream file(Path(key), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 1));
  }
  void Run() {
    const std::unique_ptr<Work> work = *MakeWork(job_, shared_.result());
    OpenFiles files(job_);
    FileReader(job_, files, shared_.result(), shared_.readers()[0]).Run(*work, 0);
  }
  const LoadResult& result() const { return shared_.result(); }

  static constexpr uint64_t kSize = 300'001;
  LoadJob job_;
  SharedResult shared_{1};
};

TEST_F(ReadTest, EveryStyleReadsWholeFiles) {
  for (const ReadStyle style : {ReadStyle::kRead, ReadStyle::kPil, ReadStyle::kCv2}) {
    job_.style = style;
    shared_.result().next_file = 0;
    Run();
  }
  EXPECT_TRUE(shared_.clean());
  EXPECT_EQ(result().files, 6u);
  EXPECT_EQ(result().bytes, 6 * kSize);
}

TEST_F(ReadTest, OneWrongByteIsSeen) {
  Flip("b", kSize - 1);
  Run();
  EXPECT_EQ(result().mismatches, 1u);
  EXPECT_FALSE(shared_.clean());
}

TEST_F(ReadTest, AFileThatIsTooShortIsSeen) {
  std::filesystem::resize_file(Path("a"), kSize - 1);
  Run();
  EXPECT_EQ(result().mismatches, 1u);
}

TEST_F(ReadTest, AMissingFileIsCounted) {
  std::filesystem::remove(Path("a"));
  Run();
  EXPECT_EQ(result().errors[ENOENT], 1u);
  EXPECT_EQ(result().files, 1u);
}

TEST_F(ReadTest, AccessesAreReadInBlocksAndChecked) {
  job_.order = Order::kAccesses;
  job_.block = 1000;
  job_.accesses = {{{.file = 1, .offset = 10, .length = 2500}, {.file = 0, .offset = kSize - 5}}};
  for (const ReadStyle style : {ReadStyle::kRead, ReadStyle::kMmap}) {
    job_.style = style;
    Run();
  }
  EXPECT_TRUE(shared_.clean());
  EXPECT_EQ(result().bytes, 2 * (2500u + 5u));
  EXPECT_EQ(result().reads, 2 * (3u + 1u));
  Flip("b", 2509);
  Run();
  EXPECT_EQ(result().mismatches, 1u);
}

// File systems refuse O_DIRECT reads whose length is not a multiple of the block.
TEST_F(ReadTest, DirectPartsMayEndAnywhere) {
  job_.order = Order::kAccesses;
  job_.style = ReadStyle::kDirect;
  job_.accesses = {{{.file = 0, .offset = 0, .length = 4096}}};
  Run();
  if (!shared_.clean()) GTEST_SKIP() << "this file system knows no O_DIRECT";
  job_.accesses = {{{.file = 0, .offset = 4096, .length = 5000}, {.file = 1}}};
  Run();
  EXPECT_TRUE(shared_.clean());
  EXPECT_EQ(result().bytes, 4096u + 5000u + kSize);
}

TEST_F(ReadTest, RandomBlocksLieWithinTheFiles) {
  job_.order = Order::kRandom;
  job_.block = 100'000;
  job_.alignment = 4096;
  job_.count = 50;
  Run();
  EXPECT_TRUE(shared_.clean());
  EXPECT_EQ(result().reads, 50u);
  EXPECT_EQ(result().bytes, 50u * 100'000u);
}

TEST_F(ReadTest, TheResultIsJsonWithEveryCounter) {
  std::filesystem::remove(Path("a"));
  Run();
  const std::string json = shared_.ToJson();
  EXPECT_THAT(json, HasSubstr("\"bytes\":300001,\"reads\":1,\"files\":1,\"mismatches\":0,"));
  EXPECT_THAT(json, HasSubstr("\"errors\":{\"2\":1}"));
  EXPECT_THAT(json, HasSubstr("\"timeline\":[300001]"));
}

}  // namespace
}  // namespace bucketvol::bench
