#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "test/prefetch/simulated_core.h"
#include "test/prefetch/traces.h"

namespace bucketvol {
namespace {

constexpr double kTotal = 400e6;

/// Puts the figures of a run beside the test's name, for whoever tunes.
SimulationResult Replay(SimulationSettings settings, std::vector<uint64_t> sizes,
                        const std::vector<TraceReader>& readers) {
  const SimulationResult result = SimulatedCore(settings, std::move(sizes)).Run(readers);
  const double efficiency = result.rate() / std::max(settings.link.total_bytes_per_second, 1.0);
  printf(
      "  E %.3f  A %.3f  time %.3f s  ninety %.3f s  streams %lu  requests %lu  ahead %.1f MiB  in flight "
      "%zu\n",
      efficiency, result.amplification(), absl::ToDoubleSeconds(result.time),
      absl::ToDoubleSeconds(result.ninety), result.streams, result.requests,
      static_cast<double>(result.ahead_peak) / kMiB, result.requests_in_flight_peak);
  return result;
}

double Efficiency(const SimulationResult& result) { return result.rate() / kTotal; }

std::vector<TraceReader> EightRegions(uint64_t length, int depth, bool mapped) {
  std::vector<TraceReader> readers;
  for (uint64_t i = 0; i < 8; ++i) {
    const ByteRange region{i * 64 * kMiB, i * 64 * kMiB + 16 * kMiB};
    TraceReader reader;
    reader.reads = mapped ? MappedInOrder(0, region, length, 512 * kMiB) : InOrder(0, region, length);
    reader.depth = depth;
    readers.push_back(reader);
  }
  return readers;
}

TEST(StreamTraces, DdReachesTheCap) {
  TraceReader reader{InOrder(0, {0, 4 * kGiB}, kMiB), 1};
  const SimulationResult result = Replay({}, {4 * kGiB}, {reader});
  EXPECT_EQ(result.streams, 1);
  EXPECT_GE(Efficiency(result), 0.95);
  EXPECT_LE(result.amplification(), 1.001);
  EXPECT_LE(result.ninety, absl::Seconds(1));
}

TEST(StreamTraces, SmallReadsReachTheCap) {
  TraceReader reader{Reordered(InOrder(0, {0, kGiB}, 128 * kKiB), 4, 1), 4};
  const SimulationResult result = Replay({}, {kGiB}, {reader});
  EXPECT_EQ(result.streams, 1);
  EXPECT_GE(Efficiency(result), 0.9);
  EXPECT_LE(result.amplification(), 1.001);
}

TEST(StreamTraces, FasterLinkIsFilledToo) {
  SimulationSettings settings;
  settings.link.total_bytes_per_second = 2e9;
  TraceReader reader{InOrder(0, {0, 8 * kGiB}, kMiB), 2};
  const SimulationResult result = Replay(settings, {8 * kGiB}, {reader});
  EXPECT_GE(result.rate(), 0.8 * 2e9);
}

// What is in flight during the 77 ms that a part of 2 MiB takes is 30 to 37 MiB: not four times as much is
// kept.
TEST(StreamTraces, KeepsAheadWhatTheLinkNeedsAndLittleMore) {
  for (const double total : {400e6, 500e6}) {
    SimulationSettings settings;
    settings.link.total_bytes_per_second = total;
    TraceReader reader{InOrder(0, {0, kGiB}, kMiB), 1};
    const SimulationResult result = Replay(settings, {kGiB}, {reader});
    EXPECT_LE(result.ahead_peak, 68 * kMiB);
  }
}

// One request in a hundred is answered only when it was sent a second time.
TEST(StreamTraces, KeepsMoreAheadWhereSomeRequestsAreSlow) {
  SimulationSettings settings;
  settings.link.slow_factor = 5;
  TraceReader reader{InOrder(0, {0, 4 * kGiB}, kMiB), 1};
  EXPECT_GE(Efficiency(Replay(settings, {4 * kGiB}, {reader})), 0.9);
}

TEST(StreamTraces, StopAfter64MiB) {
  TraceReader reader{InOrder(0, {0, 64 * kMiB}, kMiB), 1};
  const SimulationResult result = Replay({}, {512 * kMiB}, {reader});
  EXPECT_LE(result.wire - result.delivered, result.ahead_peak);
  EXPECT_LE(result.wire - result.delivered, 64 * kMiB);
}

TEST(StreamTraces, MappedInOrder) {
  TraceReader reader{MappedInOrder(0, {0, 512 * kMiB}, kMiB, 512 * kMiB), 2};
  const SimulationResult result = Replay({}, {512 * kMiB}, {reader});
  EXPECT_EQ(result.streams, 1);
  EXPECT_LE(result.amplification(), 1.02);
}

TEST(StreamTraces, EightMappedRegions) {
  const SimulationResult result = Replay({}, {512 * kMiB}, EightRegions(128 * kKiB, 1, true));
  EXPECT_EQ(result.streams, 8);
}

TEST(StreamTraces, EightPreadRegions) {
  const SimulationResult result = Replay({}, {512 * kMiB}, EightRegions(128 * kKiB, 16, false));
  EXPECT_EQ(result.streams, 8);
}

TEST(StreamTraces, EightRegionsOfTheWhole) {
  std::vector<TraceReader> readers;
  for (uint64_t i = 0; i < 8; ++i)
    readers.push_back({InOrder(0, {i * 128 * kMiB, (i + 1) * 128 * kMiB}, 128 * kKiB), 16});
  const SimulationResult result = Replay({}, {kGiB}, readers);
  EXPECT_EQ(result.streams, 8);
  EXPECT_GE(Efficiency(result), 0.9);
  EXPECT_LE(result.amplification(), 1.05);
}

TEST(StreamTraces, TensorOrder) {
  TraceReader reader;
  for (const ByteRange& piece : Shuffled(kGiB, 3 * kMiB, 1))
    Append(reader.reads, InOrder(0, piece, 256 * kKiB));
  reader.depth = 4;
  const SimulationResult result = Replay({}, {kGiB}, {reader});
  EXPECT_LE(result.amplification(), 1.05);
  EXPECT_LE(result.time, absl::Seconds(1.5 * 2.7));
}

TEST(StreamTraces, TensorOrderMapped) {
  TraceReader reader;
  for (const ByteRange& piece : Shuffled(kGiB, 3 * kMiB, 1))
    Append(reader.reads, MappedInOrder(0, piece, kMiB, kGiB));
  const SimulationResult result = Replay({}, {kGiB}, {reader});
  EXPECT_LE(result.amplification(), 1.05);
  EXPECT_LE(result.time, absl::Seconds(1.5 * 2.7));
}

TEST(StreamTraces, TensorOrderWhenHalfFits) {
  SimulationSettings settings;
  settings.memory = 256 * kMiB;
  settings.budget = 192 * kMiB;
  TraceReader reader;
  for (const ByteRange& piece : Shuffled(512 * kMiB, 3 * kMiB, 1))
    Append(reader.reads, InOrder(0, piece, kMiB));
  const SimulationResult result = Replay(settings, {512 * kMiB}, {reader});
  EXPECT_LE(result.amplification(), 1.05);
  EXPECT_LE(result.time, absl::Seconds(5.5));
}

// Through a mapping, and with pieces that do not end where requests do.
TEST(StreamTraces, UnevenTensorsMappedWhenAThirdFits) {
  SimulationSettings settings;
  settings.memory = 400 * kMiB;
  settings.budget = 300 * kMiB;
  TraceReader reader{MappedPieces(0, Shuffled(kGiB, 3 * kMiB + 52 * kKiB, 5), 128 * kKiB, kGiB)};
  const SimulationResult result = Replay(settings, {kGiB}, {reader});
  EXPECT_LE(static_cast<double>(result.wire) / static_cast<double>(kGiB), 1.05);
  EXPECT_LE(result.time, absl::Seconds(13));
}

// Somebody who reads it all once more must be swept for again.
TEST(StreamTraces, TensorOrderTwice) {
  SimulationSettings settings;
  settings.memory = 256 * kMiB;
  settings.budget = 192 * kMiB;
  TraceReader reader;
  for (const unsigned seed : {1, 2}) {
    for (const ByteRange& piece : Shuffled(512 * kMiB, 3 * kMiB, seed))
      Append(reader.reads, InOrder(0, piece, kMiB));
  }
  const SimulationResult result = Replay(settings, {512 * kMiB}, {reader});
  EXPECT_LE(result.amplification(), 1.05);
  EXPECT_LE(result.time, absl::Seconds(12.5));
}

TEST(StreamTraces, RunaiStreamer) {
  std::vector<TraceReader> readers;
  for (uint64_t i = 0; i < 16; ++i)
    readers.push_back({InOrder(0, {i * 64 * kMiB, (i + 1) * 64 * kMiB}, kMiB), 2});
  const SimulationResult result = Replay({}, {kGiB}, readers);
  EXPECT_EQ(result.streams, 16);
  EXPECT_GE(Efficiency(result), 0.9);
  EXPECT_LE(result.amplification(), 1.05);
}

TEST(StreamTraces, Fastsafetensors) {
  TraceReader header{InOrder(0, {0, 64 * kKiB}, 64 * kKiB), 1};
  std::vector<TraceReader> readers{header};
  for (uint64_t i = 0; i < 16; ++i) {
    TraceReader reader{{}, 16};
    reader.start = absl::Milliseconds(60);
    for (uint64_t begin = i * 16 * kMiB; begin < kGiB; begin += 256 * kMiB)
      Append(reader.reads, InOrder(0, {begin, begin + 16 * kMiB}, kMiB));
    readers.push_back(reader);
  }
  const SimulationResult result = Replay({}, {kGiB}, readers);
  EXPECT_GE(Efficiency(result), 0.9);
  EXPECT_LE(result.amplification(), 1.05);
}

TEST(StreamTraces, DirectIo) {
  std::vector<TraceReader> readers;
  for (uint64_t i = 0; i < 16; ++i)
    readers.push_back({InOrder(0, {i * 64 * kMiB, (i + 1) * 64 * kMiB}, kMiB), 64});
  const SimulationResult result = Replay({}, {kGiB}, readers);
  EXPECT_GE(Efficiency(result), 0.9);
  EXPECT_LE(result.amplification(), 1.001);
}

TEST(StreamTraces, SkipRead) {
  TraceReader reader;
  for (uint64_t begin = 0; begin < 2 * kGiB; begin += 17 * kMiB + 256 * kKiB)
    Append(reader.reads, InOrder(0, {begin, begin + 256 * kKiB}, 128 * kKiB));
  const SimulationResult result = Replay({}, {2 * kGiB}, {reader});
  EXPECT_LE(result.amplification(), 1.5);
  EXPECT_LE(result.time, absl::Seconds(1));
}

TEST(StreamTraces, Ranks) {
  TraceReader reader;
  for (const ByteRange& piece : Shuffled(512 * kMiB, 3 * kMiB, 1))
    Append(reader.reads, InOrder(0, piece, 256 * kKiB));
  reader.depth = 4;
  std::vector<TraceReader> readers;
  for (int i = 0; i < 8; ++i) {
    readers.push_back(reader);
    readers.back().start = absl::Milliseconds(3 * i);
  }
  const SimulationResult result = Replay({}, {512 * kMiB}, readers);
  EXPECT_EQ(result.wire, 512 * kMiB);
}

TEST(StreamTraces, RandomReads) {
  for (const uint64_t length : {256 * kKiB, kMiB}) {
    SimulationSettings settings;
    settings.link.first_byte = absl::Milliseconds(16);
    TraceReader reader;
    std::vector<ByteRange> places = Shuffled(4 * kGiB, length, 7);
    places.resize(500);
    for (const ByteRange& place : places) Append(reader.reads, InOrder(0, place, 128 * kKiB));
    reader.depth = static_cast<int>(length / (128 * kKiB));
    const SimulationResult result = Replay(settings, {4 * kGiB}, {reader});
    EXPECT_LE(result.amplification(), length == kMiB ? 1.1 : 2);
    const double per_read = absl::ToDoubleMilliseconds(result.time) / 500;
    printf("  %.2f ms per read of %lu KiB\n", per_read, length / kKiB);
    EXPECT_LE(per_read, 1.15 * (16 + static_cast<double>(length) / 50e3));
  }
}

TEST(StreamTraces, TenStreamsShareFairly) {
  std::vector<TraceReader> readers;
  for (size_t i = 0; i < 10; ++i) readers.push_back({InOrder(i, {0, 400 * kMiB}, kMiB), 1});
  const SimulationResult result = Replay({}, std::vector<uint64_t>(10, 400 * kMiB), readers);
  EXPECT_GE(Efficiency(result), 0.95);
  const auto [first, last] = std::minmax_element(result.ends.begin(), result.ends.end());
  EXPECT_GE(absl::FDivDuration(*first, *last), 0.8);
}

TEST(StreamTraces, SmallBudget) {
  SimulationSettings settings;
  settings.budget = 64 * kMiB;
  TraceReader reader{InOrder(0, {0, kGiB}, kMiB), 1};
  const SimulationResult result = Replay(settings, {kGiB}, {reader});
  EXPECT_GE(Efficiency(result), 0.9);
  EXPECT_LE(result.ahead_peak, 64 * kMiB);
}

TEST(StreamTraces, SixtyFourStreamsOfASmallBudget) {
  SimulationSettings settings;
  settings.budget = 128 * kMiB;
  std::vector<TraceReader> readers;
  for (size_t i = 0; i < 64; ++i) readers.push_back({InOrder(i, {0, 40 * kMiB}, kMiB), 1});
  const SimulationResult result = Replay(settings, std::vector<uint64_t>(64, 40 * kMiB), readers);
  EXPECT_GE(Efficiency(result), 0.9);
  EXPECT_LE(result.ahead_peak, 128 * kMiB);
}

}  // namespace
}  // namespace bucketvol
