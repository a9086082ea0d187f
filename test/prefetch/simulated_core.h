#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "mounter/base/byte_range.h"
#include "mounter/prefetch/concurrency_limit.h"
#include "mounter/prefetch/file_sequence.h"
#include "mounter/prefetch/stream_table.h"
#include "test/prefetch/simulated_link.h"

namespace bucketvol {

/// One read of a trace.
struct TraceRead {
  size_t object = 0;
  ByteRange range;
};

/// One reader: a thread of an application with the kernel's read-ahead before it.
struct TraceReader {
  std::vector<TraceRead> reads;
  int depth = 1;                  // Reads out at a time.
  double bytes_per_second = 4e9;  // Spent on the bytes of each read.
  absl::Duration think;           // Spent on each read.
  absl::Duration start;
};

struct SimulationSettings {
  LinkShape link;
  StreamSettings streams;
  ConcurrencySettings concurrency;
  bool across_files = false;
  uint64_t budget = uint64_t{4} << 30;  // Of all windows.
  uint64_t memory = UINT64_MAX;         // What was read is dropped first, in the order it came.
  absl::Duration step = absl::Microseconds(500);
};

struct SimulationResult {
  absl::Duration time;               // Until the last reader had its last byte.
  absl::Duration ninety;             // Until 90 % of the total cap was delivered over 100 ms.
  std::vector<absl::Duration> ends;  // Of each reader.
  uint64_t delivered = 0;
  uint64_t wire = 0;
  uint64_t requests = 0;
  uint64_t streams = 0;
  uint64_t cancelled = 0;   // Bytes planned ahead and taken back before they were asked for.
  uint64_t ahead_peak = 0;  // Asked for ahead of the readers.
  uint64_t ahead_end = 0;
  size_t requests_in_flight_peak = 0;
  uint64_t files_fetched_ahead = 0;

  double amplification() const { return static_cast<double>(wire) / static_cast<double>(delivered); }
  double rate() const { return static_cast<double>(delivered) / absl::ToDoubleSeconds(time); }
};

/// Drives the policies as a reader of objects would: chunks that are absent, in flight or there, one fetch
/// however many wait, demand before prefetch. Time is simulated.
class SimulatedCore {
 public:
  SimulatedCore(SimulationSettings settings, std::vector<uint64_t> object_sizes);

  StreamTable& table(size_t object) { return objects_[object].table; }
  /// Runs until every reader is done and the link is quiet.
  SimulationResult Run(const std::vector<TraceReader>& readers);

 private:
  static constexpr uint64_t kChunk = 64 << 10;
  static constexpr int kAbsent = -1;
  static constexpr int kThere = -2;

  struct Object {
    uint64_t size;
    StreamTable table;
    std::vector<int> chunks;  // kAbsent, kThere, or the fetch that brings it.
    std::vector<bool> read;   // Since it is there; while memory is limited.
    bool opened = false;
  };
  struct Fetch {
    size_t object;
    ByteRange range;
    Urgency urgency;
    bool started = false;
    bool first_byte = false;
    size_t chunks_done = 0;
  };
  struct Reader {
    const TraceReader* trace;
    size_t issued = 0;
    size_t completed = 0;
    absl::Duration busy_until;
    std::optional<absl::Duration> end;
  };

  void Issue(const TraceRead& read);
  void Open(size_t object, Stall stall);
  Stall StallOf(const Object& object, ByteRange range) const;
  bool Ready(const TraceRead& read) const;
  void Raise(size_t object, ByteRange range);
  void Claim(size_t object, ByteRange range, Urgency urgency);
  void AddFetch(size_t object, ByteRange range, Urgency urgency);
  void StartQueued();
  void StartFetch(int id);
  void Receive(int id);
  void EndFetch(int id);
  void Cancel(size_t object, ByteRange range);
  void CancelAbandoned();
  void Drop();
  void MarkRead(const TraceRead& read);
  void RunReader(Reader& reader);
  void Measure(SimulationResult& result);
  int ActiveStreams() const;
  uint64_t HeldAhead() const { return ahead_ - std::min(ahead_, queued_bytes_); }
  void Unqueue(int id);

  const SimulationSettings settings_;
  std::vector<Object> objects_;
  SimulatedLink link_;
  ConcurrencyLimit concurrency_;
  FileSequence files_;
  std::map<int, Fetch> fetches_;
  std::deque<int> queue_;  // Prefetches that wait for their turn, and for room.
  uint64_t queued_bytes_ = 0;
  // Chunks of objects, oldest first, while memory is limited. Some have changed places or gone since.
  std::deque<std::pair<size_t, size_t>> read_;
  std::deque<std::pair<size_t, size_t>> unread_;
  uint64_t there_ = 0;
  absl::Duration now_;
  int next_fetch_ = 0;
  uint64_t delivered_ = 0;
  uint64_t cancelled_ = 0;
  uint64_t ahead_ = 0;  // Planned ahead in all objects.
  std::deque<std::pair<absl::Duration, uint64_t>> progress_;
};

}  // namespace bucketvol
