#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "test/prefetch/simulated_core.h"
#include "test/prefetch/traces.h"

namespace bucketvol {
namespace {

constexpr absl::Duration kPerFile = absl::Microseconds(150);  // open, read and close, beside waiting.

SimulationResult Replay(const SimulationSettings& settings, size_t files, uint64_t size,
                        const std::vector<TraceReader>& readers) {
  const SimulationResult result = SimulatedCore(settings, std::vector<uint64_t>(files, size)).Run(readers);
  printf("  %.1f MB/s  A %.3f  time %.3f s  requests %lu  in flight %zu\n", result.rate() / 1e6,
         result.amplification(), absl::ToDoubleSeconds(result.time), result.requests,
         result.requests_in_flight_peak);
  return result;
}

SimulationSettings AcrossFiles(const LinkShape& link) {
  SimulationSettings settings;
  settings.link = link;
  settings.across_files = true;
  settings.step = absl::Microseconds(250);
  return settings;
}

enum class Share { kStride, kChunk };

// Readers that share a list of files.
std::vector<TraceReader> Readers(size_t files, uint64_t size, size_t readers, Share share) {
  std::vector<TraceReader> traces(readers);
  for (size_t file = 0; file < files; ++file) {
    const size_t reader = share == Share::kStride ? file % readers : file * readers / files;
    traces[reader].reads.push_back({file, {0, size}});
    traces[reader].think = kPerFile;
  }
  return traces;
}

TEST(FileTraces, ReadersInDirectoryOrderReachTheCap) {
  for (const size_t readers : {1, 4, 16, 64, 256}) {
    const SimulationResult result =
        Replay(AcrossFiles({}), 20'000, 100'000, Readers(20'000, 100'000, readers, Share::kStride));
    EXPECT_GE(result.rate(), 0.9 * 400e6) << readers;
    EXPECT_EQ(result.requests, 20'000) << readers;
  }
}

TEST(FileTraces, ReadersOfTheirOwnDirectoriesReachTheCap) {
  for (const size_t readers : {4, 16, 64, 256}) {
    const SimulationResult result =
        Replay(AcrossFiles({}), 20'000, 100'000, Readers(20'000, 100'000, readers, Share::kChunk));
    EXPECT_GE(result.rate(), 0.9 * 400e6) << readers;
    EXPECT_EQ(result.requests, 20'000) << readers;
  }
}

TEST(FileTraces, ThousandTinyFilesFromACold) {
  const LinkShape link{absl::Milliseconds(30), 0, 0};
  for (const Share share : {Share::kStride, Share::kChunk}) {
    for (const size_t readers : {1, 16}) {
      const SimulationResult result =
          Replay(AcrossFiles(link), 1'000, 16 * kKiB, Readers(1'000, 16 * kKiB, readers, share));
      EXPECT_LE(result.time, absl::Milliseconds(600)) << readers;
      EXPECT_EQ(result.requests, 1'000) << readers;
    }
  }
}

TEST(FileTraces, RandomOrderBringsNothingButWhatIsRead) {
  TraceReader reader;
  for (size_t i = 0; i < 20'000; ++i) reader.reads.push_back({i, {0, 100'000}});
  std::shuffle(reader.reads.begin(), reader.reads.end(), std::mt19937(1));
  reader.reads.resize(1'000);
  const SimulationResult result = Replay(AcrossFiles({}), 20'000, 100'000, {reader});
  EXPECT_LE(result.amplification(), 1.01);
}

TEST(FileTraces, ImageLibrariesNeedOneRequest) {
  // PIL: 4,096 bytes, then 61,440, then the rest. OpenCV: 4,096 bytes; then again from the start in pieces of
  // 4,096.
  constexpr uint64_t kJpeg = 100'556;
  TraceReader pil{{{0, {0, 4'096}}, {0, {4'096, 65'536}}, {0, {65'536, kJpeg}}}};
  TraceReader cv2{{{1, {0, 4'096}}}};
  Append(cv2.reads, InOrder(1, {0, kJpeg}, 4'096));
  EXPECT_EQ(Replay({}, 2, kJpeg, {pil, cv2}).requests, 2);
}

}  // namespace
}  // namespace bucketvol
