#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/types/span.h"
#include "test/bench/load/latency_histogram.h"

namespace bucketvol::bench {

/// What the readers of one run count. Lies in memory that their processes share; all zeros at first.
/// Thread-safe.
struct LoadResult {
  static constexpr uint64_t kTickNs = 50'000'000;
  static constexpr size_t kTicks = 20 * 60 * 30;  // Half an hour.
  static constexpr size_t kErrnos = 200;

  struct Reader {
    uint64_t begin_ns;  // Of a steady clock; written by the reader alone.
    uint64_t end_ns;
    uint64_t bytes;
  };

  /// Notes `bytes` (of one read that began at `begin_ns`) delivered now.
  void Deliver(Reader& reader, uint64_t bytes, uint64_t begin_ns);
  void Fail(int error);

  std::atomic<uint64_t> next_file;
  std::atomic<uint64_t> start_ns;  // When the first reader began.
  LatencyHistogram latency;        // Of reads; of whole files where whole files are read.
  std::atomic<uint64_t> files;
  std::atomic<uint64_t> reads;
  std::atomic<uint64_t> bytes;
  std::atomic<uint64_t> mismatches;  // Reads with a byte that differs from what must be there.
  std::atomic<uint64_t> cut_short;   // Readers that time stopped.
  std::array<std::atomic<uint64_t>, kErrnos> errors;   // By errno.
  std::array<std::atomic<uint64_t>, kTicks> timeline;  // Bytes delivered in each tick since the start.
};

/// Nanoseconds of a steady clock that all processes share.
uint64_t SteadyNs();

/// A LoadResult and its readers in shared memory.
class SharedResult {
 public:
  explicit SharedResult(int readers);
  ~SharedResult();
  SharedResult(const SharedResult&) = delete;
  SharedResult& operator=(const SharedResult&) = delete;

  LoadResult& result() const { return *static_cast<LoadResult*>(memory_); }
  absl::Span<LoadResult::Reader> readers() const;

  /// One JSON object: seconds (first begin to last end), bytes, reads, files, mismatches, cut_short,
  /// errors by errno, latency_us, bytes_per_second of each reader, timeline in bytes per tick.
  std::string ToJson() const;
  /// No error and no byte that differs.
  bool clean() const;

 private:
  double Seconds() const;

  const int readers_;
  const size_t bytes_;
  void* const memory_;
};

}  // namespace bucketvol::bench
