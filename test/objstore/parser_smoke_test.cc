// The fuzz targets of this directory's parsers on damaged seeds: a short run without libFuzzer.

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "mounter/base/file.h"
#include "test/support/status_matchers.h"

// Named so by the build file; each is LLVMFuzzerTestOneInput of one target.
extern "C" int FuzzListPage(const uint8_t* data, size_t size);
extern "C" int FuzzErrorDocument(const uint8_t* data, size_t size);
extern "C" int FuzzHttpHead(const uint8_t* data, size_t size);
extern "C" int FuzzHttpAnswer(const uint8_t* data, size_t size);

namespace bucketvol {
namespace {

void Damage(std::string& text, std::mt19937& random) {
  for (uint32_t i = random() % 4 + 1; i > 0 && !text.empty(); --i) {
    const size_t at = random() % text.size();
    switch (random() % 3) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, random() % 8);
        break;
      case 2:
        text.insert(at, text.substr(random() % text.size(), random() % 16));
        break;
    }
  }
}

void RunSeeds(const char* target, int (*fuzz)(const uint8_t*, size_t)) {
  const char* const source = std::getenv("BUCKETVOL_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "BUCKETVOL_SOURCE is not set";
  std::mt19937 random(7);
  int seeds = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(absl::StrCat(source, "/test/fuzz/seeds/", target))) {
    ++seeds;
    ASSERT_OK_AND_ASSIGN(const std::string seed, ReadWholeFile(entry.path(), 1 << 20));
    for (int i = 0; i < 2'000; ++i) {
      std::string text = seed;
      if (i > 0) Damage(text, random);
      EXPECT_EQ(fuzz(reinterpret_cast<const uint8_t*>(text.data()), text.size()), 0);
    }
  }
  EXPECT_GT(seeds, 0);
}

TEST(ParserSmokeTest, Listings) { RunSeeds("list_page_fuzz", FuzzListPage); }
TEST(ParserSmokeTest, ErrorDocuments) { RunSeeds("error_document_fuzz", FuzzErrorDocument); }
TEST(ParserSmokeTest, HeadsOfAnswers) { RunSeeds("http_head_fuzz", FuzzHttpHead); }
TEST(ParserSmokeTest, Answers) { RunSeeds("http_answer_fuzz", FuzzHttpAnswer); }

}  // namespace
}  // namespace bucketvol
