// Measures what the client itself costs and how it bears slow answers, against a server that is running:
//
//   store_bench URL BUCKET list [STREAMS]              lists the bucket, STREAMS ranges of its keys at a time
//   store_bench URL BUCKET get OBJECTS SIZE [STREAMS]  reads SIZE bytes of each of OBJECTS objects
//   store_bench URL BUCKET stream SIZE [PARTS]         one object in order, PARTS parts of 8 MiB at a time
//
// Prints one JSON document. Options before URL: --threads=N (event loops), --hedge=off, --copy (bytes are
// kept as a reader's cache would).

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/synchronization/mutex.h"
#include "mounter/objstore/store_factory.h"

namespace bucketvol {
namespace {

struct Usage {
  double cpu_seconds = 0;
  long peak_kib = 0;
};

Usage CurrentUsage() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss};
}

// Work whose parts run on the store's threads.
class Countdown {
 public:
  explicit Countdown(int count) : count_(count) {}
  void Done() {
    absl::MutexLock lock(&mu_);
    --count_;
  }
  void Wait() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](int* count) { return *count == 0; }, &count_));
  }

 private:
  absl::Mutex mu_;
  int count_ ABSL_GUARDED_BY(mu_);
};

[[noreturn]] void Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(1);
}

// Pages through (start, end), then through the next range.
class Pager {
 public:
  Pager(ObjectStore& store, const std::vector<std::string>& starts, std::atomic<size_t>& next,
        std::atomic<uint64_t>& keys, Countdown& countdown)
      : store_(store), starts_(starts), next_(next), keys_(keys), countdown_(countdown) {}

  void NextRange() {
    range_ = next_++;
    if (range_ >= starts_.size()) return countdown_.Done();
    Page(starts_[range_]);
  }

 private:
  void Page(std::string start_after) {
    ListRequest request;
    request.start_after = std::move(start_after);
    store_.List(std::move(request), [this](absl::StatusOr<ListPage> page) {
      if (!page.ok()) Fail(page.status());
      const absl::string_view end = range_ + 1 < starts_.size() ? absl::string_view(starts_[range_ + 1]) : "";
      for (const ListedObject& object : page->objects) {
        if (!end.empty() && object.key > end) return NextRange();
        ++keys_;
      }
      if (!page->truncated) return NextRange();
      Page(std::string(page->objects.back().key));
    });
  }

  ObjectStore& store_;
  const std::vector<std::string>& starts_;
  std::atomic<size_t>& next_;
  std::atomic<uint64_t>& keys_;
  Countdown& countdown_;
  size_t range_ = 0;
};

// Directories at which the key space is cut.
std::vector<std::string> Ranges(ObjectStore& store, size_t wanted) {
  std::vector<std::string> all = {""};
  std::string token;
  do {
    Countdown one(1);
    ListRequest request;
    request.delimiter = "/";
    request.continuation_token = token;
    store.List(std::move(request), [&](absl::StatusOr<ListPage> page) {
      if (!page.ok()) Fail(page.status());
      for (const absl::string_view prefix : page->common_prefixes) all.emplace_back(prefix);
      token = page->next_token;
      one.Done();
    });
    one.Wait();
  } while (!token.empty());
  std::vector<std::string> picked;
  for (size_t i = 0; i < wanted; ++i) picked.push_back(all[i * all.size() / wanted]);
  picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
  return picked;
}

void List(BucketStore& store, int streams) {
  const std::vector<std::string> starts = Ranges(store, static_cast<size_t>(streams) * 4);
  const Usage before = CurrentUsage();
  const absl::Duration begin = Clock::Real().Elapsed();
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> keys{0};
  Countdown countdown(streams);
  std::vector<std::unique_ptr<Pager>> pagers;
  for (int i = 0; i < streams; ++i) {
    pagers.push_back(std::make_unique<Pager>(store, starts, next, keys, countdown));
    pagers.back()->NextRange();
  }
  countdown.Wait();
  const double seconds = absl::ToDoubleSeconds(Clock::Real().Elapsed() - begin);
  const Usage after = CurrentUsage();
  const double millions = static_cast<double>(keys) / 1e6;
  std::printf("{\"keys\":%llu,\"seconds\":%.3f,\"cpu_seconds_per_million\":%.3f,\"peak_kib\":%ld}\n",
              static_cast<unsigned long long>(keys), seconds,
              (after.cpu_seconds - before.cpu_seconds) / millions, after.peak_kib);
}

// Where bytes go that a reader keeps: a few blocks that are written again and again.
class Blocks {
 public:
  void Append(absl::Span<const char> data) {
    while (!data.empty()) {
      const size_t room = std::min(data.size(), kBytes - at_);
      std::memcpy(memory_.get() + at_, data.data(), room);
      at_ = (at_ + room) % kBytes;
      data.remove_prefix(room);
    }
  }

 private:
  static constexpr size_t kBytes = 64 << 20;
  std::unique_ptr<char[]> memory_ = std::make_unique<char[]>(kBytes);
  size_t at_ = 0;
};

struct Object {
  std::string key;
  std::string etag;
};

// Reads the start of one object after the other.
class Reader final : public GetSink {
 public:
  Reader(ObjectStore& store, const std::vector<Object>& objects, uint64_t size, std::atomic<size_t>& next,
         Countdown& countdown, Blocks* blocks)
      : store_(store), objects_(objects), size_(size), next_(next), countdown_(countdown), blocks_(blocks) {}

  void Next() {
    const size_t i = next_++;
    if (i >= objects_.size()) return countdown_.Done();
    GetRequest request;
    request.key = objects_[i].key;
    request.range = {0, size_};
    request.if_match = objects_[i].etag;
    begun_ = Clock::Real().Elapsed();
    store_.Get(std::move(request), this);
  }
  const std::vector<absl::Duration>& times() const { return times_; }

  void OnData(absl::Span<const char> data) override {
    if (blocks_ != nullptr) blocks_->Append(data);
  }
  void OnDone(absl::Status status) override {
    if (!status.ok()) Fail(status);
    times_.push_back(Clock::Real().Elapsed() - begun_);
    Next();
  }

 private:
  ObjectStore& store_;
  const std::vector<Object>& objects_;
  const uint64_t size_;
  std::atomic<size_t>& next_;
  Countdown& countdown_;
  Blocks* const blocks_;
  absl::Duration begun_;
  std::vector<absl::Duration> times_;
};

// Reads one object in order through a window of parts. A part is demanded when it is the next to be consumed.
class Stream {
 public:
  Stream(ObjectStore& store, Object object, uint64_t size, size_t window, Blocks* blocks)
      : store_(store), object_(std::move(object)), size_(size), window_(window), blocks_(blocks) {
    for (uint64_t at = 0; at < size; at += kPart) parts_.push_back(std::make_unique<Part>(*this, at));
  }

  void Run() {
    Advance();
    all_.Wait();
  }

 private:
  static constexpr uint64_t kPart = 8 << 20;

  struct Part final : GetSink {
    Part(Stream& s, uint64_t at) : stream(s), range{at, std::min(at + kPart, s.size_)} {}
    void OnData(absl::Span<const char> data) override {
      if (stream.blocks_ != nullptr) stream.blocks_->Append(data);
    }
    void OnDone(absl::Status status) override {
      if (!status.ok()) Fail(status);
      {
        absl::MutexLock lock(&stream.mu_);
        done = true;
      }
      stream.Advance();
    }

    Stream& stream;
    const ByteRange range;
    const std::shared_ptr<SharedPurpose> purpose = std::make_shared<SharedPurpose>(GetPurpose::kPrefetch);
    bool done = false;  // Guarded by the stream's lock.
  };

  // Consumes what is there, demands the next part and fills the window.
  void Advance() {
    std::vector<Part*> wanted;
    bool over = false;
    {
      absl::MutexLock lock(&mu_);
      const bool before = consumed_ < parts_.size();
      while (consumed_ < parts_.size() && parts_[consumed_]->done) ++consumed_;
      over = before && consumed_ == parts_.size();
      if (consumed_ < parts_.size()) parts_[consumed_]->purpose->Set(GetPurpose::kDemand);
      while (asked_ < std::min(parts_.size(), consumed_ + window_)) wanted.push_back(parts_[asked_++].get());
    }
    for (Part* part : wanted) {
      GetRequest request;
      request.key = object_.key;
      request.range = part->range;
      request.if_match = object_.etag;
      request.purpose = part->purpose;
      store_.Get(std::move(request), part);
    }
    if (over) all_.Done();
  }

  ObjectStore& store_;
  const Object object_;
  const uint64_t size_;
  const size_t window_;
  Blocks* const blocks_;
  Countdown all_{1};
  absl::Mutex mu_;
  std::vector<std::unique_ptr<Part>> parts_ ABSL_GUARDED_BY(mu_);
  size_t consumed_ ABSL_GUARDED_BY(mu_) = 0;
  size_t asked_ ABSL_GUARDED_BY(mu_) = 0;
};

std::vector<Object> SomeObjects(ObjectStore& store, size_t wanted) {
  std::vector<Object> objects;
  bool more = true;
  while (objects.size() < wanted && more) {
    Countdown one(1);
    ListRequest request;
    if (!objects.empty()) request.start_after = objects.back().key;
    store.List(std::move(request), [&](absl::StatusOr<ListPage> page) {
      if (!page.ok()) Fail(page.status());
      for (const ListedObject& object : page->objects)
        objects.push_back({std::string(object.key), std::string(object.etag)});
      more = page->truncated;
      one.Done();
    });
    one.Wait();
  }
  objects.resize(std::min(objects.size(), wanted));
  return objects;
}

double MillisecondsAt(const std::vector<absl::Duration>& sorted, double share) {
  const auto index = static_cast<size_t>(share * static_cast<double>(sorted.size()));
  return absl::ToDoubleMilliseconds(sorted[std::min(index, sorted.size() - 1)]);
}

// What all kinds of reading report.
void Report(const BucketStore& store, double bytes, double gets, absl::Duration took, const Usage& before,
            const std::string& more) {
  const Usage after = CurrentUsage();
  const double cpu = after.cpu_seconds - before.cpu_seconds;
  const StoreMetrics& metrics = store.metrics();
  std::printf(
      "{\"gets\":%.0f,\"seconds\":%.3f,\"mb_per_second\":%.1f,\"cpu_us_per_get\":%.1f,"
      "\"cpu_seconds_per_gb\":%.3f,\"requests\":%llu,\"hedged\":%llu,\"hedges_won\":%llu,"
      "\"stalled\":%llu,\"retries\":%llu,\"bytes_discarded\":%llu,\"peak_kib\":%ld%s}\n",
      gets, absl::ToDoubleSeconds(took), bytes / 1e6 / absl::ToDoubleSeconds(took), cpu * 1e6 / gets,
      cpu * 1e9 / bytes, static_cast<unsigned long long>(metrics.Requests(StoreOperation::kGet)),
      static_cast<unsigned long long>(metrics.hedged), static_cast<unsigned long long>(metrics.hedges_won),
      static_cast<unsigned long long>(metrics.stalled), static_cast<unsigned long long>(metrics.retries),
      static_cast<unsigned long long>(metrics.bytes_discarded), after.peak_kib, more.c_str());
}

void Get(BucketStore& store, size_t count, uint64_t size, int streams, Blocks* blocks) {
  const std::vector<Object> objects = SomeObjects(store, count);
  const Usage before = CurrentUsage();
  const absl::Duration begin = Clock::Real().Elapsed();
  std::atomic<size_t> next{0};
  Countdown countdown(streams);
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < streams; ++i) {
    readers.push_back(std::make_unique<Reader>(store, objects, size, next, countdown, blocks));
    readers.back()->Next();
  }
  countdown.Wait();
  const absl::Duration took = Clock::Real().Elapsed() - begin;
  std::vector<absl::Duration> times;
  for (const auto& reader : readers)
    times.insert(times.end(), reader->times().begin(), reader->times().end());
  std::sort(times.begin(), times.end());
  char more[160];
  std::snprintf(more, sizeof(more), ",\"p50_ms\":%.1f,\"p99_ms\":%.1f,\"p99_5_ms\":%.1f,\"max_ms\":%.1f",
                MillisecondsAt(times, 0.5), MillisecondsAt(times, 0.99), MillisecondsAt(times, 0.995),
                MillisecondsAt(times, 1));
  const auto gets = static_cast<double>(objects.size());
  Report(store, gets * static_cast<double>(size), gets, took, before, more);
}

void ReadInOrder(BucketStore& store, uint64_t size, size_t window, Blocks* blocks) {
  Stream stream(store, SomeObjects(store, 1).at(0), size, window, blocks);
  const Usage before = CurrentUsage();
  const absl::Duration begin = Clock::Real().Elapsed();
  stream.Run();
  const absl::Duration took = Clock::Real().Elapsed() - begin;
  Report(store, static_cast<double>(size),
         static_cast<double>(store.metrics().Requests(StoreOperation::kGet)), took, before, "");
}

struct Options {
  std::vector<std::string> words;
  bool hedge = true;
  bool copy = false;
  int threads = 0;
};

Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const absl::string_view word = argv[i];
    if (word == "--hedge=off") {
      options.hedge = false;
    } else if (word == "--copy") {
      options.copy = true;
    } else if (absl::StartsWith(word, "--threads=")) {
      (void)absl::SimpleAtoi(word.substr(10), &options.threads);
    } else {
      options.words.emplace_back(word);
    }
  }
  return options;
}

int Run(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // As bucketvol does.
  const Options options = ParseOptions(argc, argv);
  const std::vector<std::string>& words = options.words;
  const auto number = [&](size_t i, long long otherwise) {
    return words.size() > i ? std::atoll(words[i].c_str()) : otherwise;
  };
  const std::string mode = words.size() > 2 ? words[2] : "";
  if (mode != "list" && mode != "get" && mode != "stream") {
    std::fprintf(stderr,
                 "usage: store_bench [--threads=N] [--hedge=off] [--copy] URL BUCKET "
                 "list [STREAMS] | get OBJECTS SIZE [STREAMS] | stream SIZE [PARTS]\n");
    return 2;
  }
  StaticCredentials credentials({"ak", Secret("sk"), Secret()});
  StoreSettings settings;
  settings.url = words[0];
  settings.bucket = words[1];
  settings.region = "cn-hangzhou";
  settings.transport.threads = options.threads;
  if (!options.hedge) settings.hedge.reset();
  absl::StatusOr<std::unique_ptr<BucketStore>> store = MakeObjectStore(settings, credentials, Clock::Real());
  if (!store.ok()) Fail(store.status());
  std::optional<Blocks> blocks;
  if (options.copy) blocks.emplace();
  Blocks* const keep = blocks ? &*blocks : nullptr;
  if (mode == "list") List(**store, static_cast<int>(number(3, 64)));
  if (mode == "get") {
    Get(**store, static_cast<size_t>(number(3, 10'000)), static_cast<uint64_t>(number(4, 100'000)),
        static_cast<int>(number(5, 64)), keep);
  }
  if (mode == "stream") {
    ReadInOrder(**store, static_cast<uint64_t>(number(3, 1LL << 30)), static_cast<size_t>(number(4, 16)),
                keep);
  }
  return 0;
}

}  // namespace
}  // namespace bucketvol

int main(int argc, char** argv) { return bucketvol::Run(argc, argv); }
