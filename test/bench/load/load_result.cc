#include "test/bench/load/load_result.h"

#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

#include "absl/strings/str_cat.h"

namespace bucketvol::bench {
namespace {

static_assert(std::atomic<uint64_t>::is_always_lock_free);

constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

void* MapShared(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    perror("read_load: mmap");
    exit(1);
  }
  return memory;
}

double Rate(const LoadResult::Reader& reader) {
  const uint64_t ns = std::max<uint64_t>(reader.end_ns - reader.begin_ns, 1);
  return static_cast<double>(reader.bytes) * 1e9 / static_cast<double>(ns);
}

std::string LatencyJson(const LatencyHistogram& latency) {
  const auto us = [&](double fraction) { return static_cast<double>(latency.Percentile(fraction)) / 1e3; };
  return absl::StrCat("{\"p50\":", us(0.5), ",\"p95\":", us(0.95), ",\"p99\":", us(0.99),
                      ",\"p99.5\":", us(0.995), ",\"max\":", static_cast<double>(latency.max()) / 1e3, "}");
}

}  // namespace

uint64_t SteadyNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void LoadResult::Deliver(Reader& reader, uint64_t delivered, uint64_t begin_ns) {
  const uint64_t now = SteadyNs();
  latency.Add(now - begin_ns);
  reads.fetch_add(1, kRelaxed);
  bytes.fetch_add(delivered, kRelaxed);
  reader.bytes += delivered;
  const uint64_t start = start_ns.load(kRelaxed);
  const uint64_t tick = now > start ? (now - start) / kTickNs : 0;
  timeline[std::min<size_t>(tick, kTicks - 1)].fetch_add(delivered, kRelaxed);
}

void LoadResult::Fail(int error) {
  errors[std::min<size_t>(static_cast<size_t>(error), kErrnos - 1)].fetch_add(1, kRelaxed);
}

SharedResult::SharedResult(int readers)
    : readers_(readers),
      bytes_(sizeof(LoadResult) + sizeof(LoadResult::Reader) * static_cast<size_t>(readers)),
      memory_(MapShared(bytes_)) {}

SharedResult::~SharedResult() { munmap(memory_, bytes_); }

absl::Span<LoadResult::Reader> SharedResult::readers() const {
  char* const behind = static_cast<char*>(memory_) + sizeof(LoadResult);
  return absl::MakeSpan(reinterpret_cast<LoadResult::Reader*>(behind), static_cast<size_t>(readers_));
}

double SharedResult::Seconds() const {
  uint64_t end = result().start_ns;
  for (const LoadResult::Reader& reader : readers()) end = std::max(end, reader.end_ns);
  return static_cast<double>(end - result().start_ns) / 1e9;
}

bool SharedResult::clean() const {
  const auto& errors = result().errors;
  return result().mismatches == 0 &&
         std::all_of(errors.begin(), errors.end(), [](const auto& count) { return count == 0; });
}

std::string SharedResult::ToJson() const {
  const LoadResult& all = result();
  std::string json = absl::StrCat(
      "{\"seconds\":", Seconds(), ",\"bytes\":", all.bytes.load(), ",\"reads\":", all.reads.load(),
      ",\"files\":", all.files.load(), ",\"mismatches\":", all.mismatches.load(),
      ",\"cut_short\":", all.cut_short.load(), ",\"latency_us\":", LatencyJson(all.latency), ",\"errors\":{");
  const char* comma = "";
  for (size_t error = 0; error < LoadResult::kErrnos; ++error) {
    if (all.errors[error] == 0) continue;
    absl::StrAppend(&json, comma, "\"", error, "\":", all.errors[error].load());
    comma = ",";
  }
  absl::StrAppend(&json, "},\"reader_bytes_per_second\":[");
  comma = "";
  for (const LoadResult::Reader& reader : readers()) {
    absl::StrAppend(&json, comma, static_cast<uint64_t>(Rate(reader)));
    comma = ",";
  }
  absl::StrAppend(&json, "],\"tick_seconds\":", static_cast<double>(LoadResult::kTickNs) / 1e9,
                  ",\"timeline\":[");
  const auto ticks = std::min<uint64_t>(LoadResult::kTicks,
                                        static_cast<uint64_t>(Seconds() * 1e9) / LoadResult::kTickNs + 1);
  for (uint64_t tick = 0; tick < ticks; ++tick) {
    absl::StrAppend(&json, tick == 0 ? "" : ",", all.timeline[tick].load());
  }
  return json + "]}";
}

}  // namespace bucketvol::bench
