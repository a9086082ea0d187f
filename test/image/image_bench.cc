// What one 1 MiB READ of an image volume costs when its bytes are in the reader's memory: through the reader
// alone, and through loop device, FUSE, session, image server and reader. Needs root. Prints one line per
// measurement.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "mounter/image/image_server.h"
#include "mounter/session/fuse_session.h"
#include "test/image/built_index.h"
#include "test/image/kernel_objects.h"
#include "test/session/test_slots.h"

namespace bucketvol {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kMemoryBytes = 128 * kMiB;
constexpr uint64_t kLargeBytes = 512 * kMiB;  // Does not fit.
constexpr uint64_t kHotBytes = 16 * kMiB;     // Fits, also into the processor's cache.
constexpr int kPasses = 64;

double CpuSeconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Runs `work`, which reads `bytes`, and prints what it cost.
template <typename Work>
void Measure(const char* name, uint64_t bytes, Work work) {
  const double process = CpuSeconds(RUSAGE_SELF);
  const double own = CpuSeconds(RUSAGE_THREAD);
  const absl::Time start = absl::Now();
  work();
  const double wall = absl::ToDoubleSeconds(absl::Now() - start);
  const double application = CpuSeconds(RUSAGE_THREAD) - own;
  const double serving = CpuSeconds(RUSAGE_SELF) - process - application;
  const double mib = static_cast<double>(bytes) / kMiB;
  std::printf(
      "%-34s %7.2f GB/s   per MiB: %6.1f us in the caller, %6.1f us in other threads of the process\n", name,
      static_cast<double>(bytes) / wall / 1e9, application / mib * 1e6, serving / mib * 1e6);
}

uint64_t ReadThrough(int fd, ByteRange range) {
  const std::unique_ptr<char, decltype(&std::free)> buffer(static_cast<char*>(std::aligned_alloc(4096, kMiB)),
                                                           &std::free);
  uint64_t sum = 0;
  for (uint64_t at = range.begin; at < range.end; at += kMiB) {
    const ssize_t got = pread(fd, buffer.get(), kMiB, static_cast<off_t>(at));
    if (got <= 0) break;
    sum += static_cast<uint64_t>(got);
  }
  return sum;
}

void Pass(Reader& reader, const ObjectExtent& extent, ByteRange range) {
  const ObjectId object{extent.key, extent.etag, extent.size};
  for (uint64_t at = range.begin; at < range.end; at += kMiB) {
    absl::Notification done;
    reader.Read(object, {at, at + kMiB}, {}, [&](absl::StatusOr<ReadData> data) {
      if (!data.ok()) std::abort();
      done.Notify();
    });
    done.WaitForNotification();
  }
}

int Run() {
  if (const std::string why = testing::WhyNoKernelObjects(); !why.empty()) {
    std::printf("cannot measure: %s\n", why.c_str());
    return 1;
  }
  ThreadPool pool("store", 1);
  testing::FakeObjectStore store(pool);
  store.SetContent(
      [](absl::string_view, uint64_t, absl::Span<char> out) { std::fill(out.begin(), out.end(), 'x'); });
  const testing::BuiltIndex index(store, {{"hot", kHotBytes}, {"large", kLargeBytes}});
  ReadMetrics metrics;
  Reader reader(store, Clock::Real(), metrics,
                ReaderSettings{.bucket_url = "oss://b", .memory_bytes = kMemoryBytes});
  const ObjectExtent extent = *index.table().At(0);
  const ObjectExtent large = *index.table().At(1);

  Measure("reader, from store, fresh memory", kMemoryBytes, [&] { Pass(reader, large, {0, kMemoryBytes}); });
  Measure("reader, from store, memory full", kLargeBytes - kMemoryBytes, [&] {
    Pass(reader, large, {kMemoryBytes, kLargeBytes});
  });
  Pass(reader, extent, {0, kHotBytes});
  Measure("reader, from memory", kPasses * kHotBytes, [&] {
    for (int i = 0; i < kPasses; ++i) Pass(reader, extent, {0, kHotBytes});
  });

  ImageServer server(index.table(), index.manifest().devices, reader, metrics);
  testing::FuseMount fuse = *testing::MakeFuseMount();
  RequestSlots slots = testing::MakeSlots();
  FuseSession session(FuseSessionSettings(), slots, Clock::Real(), pool);
  std::thread serving([&] { session.Serve(std::move(fuse.device), server).IgnoreError(); });
  {
    const std::string name = "data" + std::to_string(extent.device);
    const UniqueFd file(openat(fuse.mount.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
    const testing::LoopDevice loop = *testing::MakeLoopDevice(file.get(), /*direct=*/true);
    const UniqueFd direct(open(loop.path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
    const ByteRange where{extent.offset, extent.offset + kHotBytes};
    const uint64_t before = metrics.requests;
    Measure("loop device, O_DIRECT, 1 stream", kPasses * kHotBytes, [&] {
      for (int i = 0; i < kPasses; ++i) ReadThrough(direct.get(), where);
    });
    std::printf("%-34s %7.2f per MiB\n", "READ requests",
                static_cast<double>(metrics.requests - before) / (kPasses * kHotBytes / kMiB));
  }
  fuse.mount.Reset();
  serving.join();
  std::printf("%-34s %llu of %llu requests timed out, %llu errors\n", "sanity",
              static_cast<unsigned long long>(session.reads_timed_out()),
              static_cast<unsigned long long>(metrics.requests.load()),
              static_cast<unsigned long long>(metrics.errors.load()));
  return 0;
}

}  // namespace
}  // namespace bucketvol

int main() { return bucketvol::Run(); }
