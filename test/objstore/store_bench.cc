// Measures what the client itself costs against a server that is already running:
//   store_bench URL BUCKET list [STREAMS]             lists the bucket once, STREAMS ranges of the key space
//   at a time store_bench URL BUCKET get KEYS SIZE [STREAMS]    reads objects of SIZE bytes

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

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
  int count_;
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
  std::printf("%.2f M keys in %.2f s: %.2f M keys/s, %.3f CPU-s per million keys, peak %ld MiB\n", millions,
              seconds, millions / seconds, (after.cpu_seconds - before.cpu_seconds) / millions,
              after.peak_kib / 1024);
}

class Reader final : public GetSink {
 public:
  Reader(ObjectStore& store, const std::vector<std::string>& keys, std::atomic<size_t>& next,
         Countdown& countdown)
      : store_(store), keys_(keys), next_(next), countdown_(countdown) {}

  void Next() {
    const size_t i = next_++;
    if (i >= keys_.size()) return countdown_.Done();
    GetRequest request;
    request.key = keys_[i];
    request.range = {0, size_};
    store_.Get(std::move(request), this);
  }
  void set_size(uint64_t size) { size_ = size; }

  void OnData(absl::Span<const char>) override {}
  void OnDone(absl::Status status) override {
    if (!status.ok()) Fail(status);
    Next();
  }

 private:
  ObjectStore& store_;
  const std::vector<std::string>& keys_;
  std::atomic<size_t>& next_;
  Countdown& countdown_;
  uint64_t size_ = 0;
};

std::vector<std::string> SomeKeys(ObjectStore& store, size_t wanted) {
  std::vector<std::string> keys;
  bool more = true;
  while (keys.size() < wanted && more) {
    Countdown one(1);
    ListRequest request;
    if (!keys.empty()) request.start_after = keys.back();
    store.List(std::move(request), [&](absl::StatusOr<ListPage> page) {
      if (!page.ok()) Fail(page.status());
      for (const ListedObject& object : page->objects) keys.emplace_back(object.key);
      more = page->truncated;
      one.Done();
    });
    one.Wait();
  }
  keys.resize(std::min(keys.size(), wanted));
  return keys;
}

void Get(BucketStore& store, size_t count, uint64_t size, int streams) {
  const std::vector<std::string> keys = SomeKeys(store, count);
  const Usage before = CurrentUsage();
  const absl::Duration begin = Clock::Real().Elapsed();
  std::atomic<size_t> next{0};
  Countdown countdown(streams);
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < streams; ++i) {
    readers.push_back(std::make_unique<Reader>(store, keys, next, countdown));
    readers.back()->set_size(size);
    readers.back()->Next();
  }
  countdown.Wait();
  const double seconds = absl::ToDoubleSeconds(Clock::Real().Elapsed() - begin);
  const Usage after = CurrentUsage();
  const double gets = static_cast<double>(keys.size());
  std::printf("%.0f GETs of %llu bytes in %.2f s: %.0f/s, %.1f CPU-us each, peak %ld MiB\n", gets,
              static_cast<unsigned long long>(size), seconds, gets / seconds,
              (after.cpu_seconds - before.cpu_seconds) * 1e6 / gets, after.peak_kib / 1024);
}

int Run(int argc, char** argv) {
  const auto number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const std::string mode = argc > 3 ? argv[3] : "";
  if (mode != "list" && mode != "get") {
    std::fprintf(stderr, "usage: store_bench URL BUCKET list [STREAMS] | get KEYS SIZE [STREAMS]\n");
    return 2;
  }
  StaticCredentials credentials({"ak", Secret("sk"), Secret()});
  StoreSettings settings;
  settings.url = argv[1];
  settings.bucket = argv[2];
  settings.region = "cn-hangzhou";
  if (const char* threads = std::getenv("STORE_THREADS")) settings.transport.threads = std::atoi(threads);
  absl::StatusOr<std::unique_ptr<BucketStore>> store = MakeObjectStore(settings, credentials, Clock::Real());
  if (!store.ok()) Fail(store.status());
  if (mode == "list") {
    List(**store, number(4, 64));
  } else {
    Get(**store, static_cast<size_t>(number(4, 10'000)), static_cast<uint64_t>(number(5, 100'000)),
        number(6, 64));
  }
  return 0;
}

}  // namespace
}  // namespace bucketvol

int main(int argc, char** argv) { return bucketvol::Run(argc, argv); }
