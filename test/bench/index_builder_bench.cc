// Builds indexes of synthetic listings and prints speed, sizes and peak anonymous memory:
//   index_builder_bench DIRECTORY [SHAPE [KEYS]]      SHAPE: even | flat | small | wide | deep
// even: 1,000 files per directory; flat: one directory; small: 10 files per directory; wide: one directory of
// sub-directories with one file each; deep: each directory holds one file and the next directory, 300 levels.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "mounter/index/index_builder.h"

namespace bucketvol {
namespace {

constexpr size_t kPage = 1000;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

long StatusKib(const char* field) {
  FILE* file = fopen("/proc/self/status", "r");
  char line[256];
  long value = 0;
  while (file != nullptr && fgets(line, sizeof line, file) != nullptr) {
    if (strncmp(line, field, strlen(field)) == 0) value = atol(line + strlen(field) + 1);
  }
  if (file != nullptr) fclose(file);
  return value;
}

void AppendNumber(std::string& out, uint64_t value, unsigned base, int width) {
  char digits[20];
  for (int i = width; i-- > 0; value /= base) digits[i] = "0123456789ABCDEF"[value % base];
  out.append(digits, width);
}

uint64_t Mix(uint64_t i) { return (i + 1) * 0x9E3779B97F4A7C15u; }

// Names of 40 bytes: a word, a number in order, a hash, an extension.
void AppendName(std::string& out, uint64_t i) {
  out.append("training-sample_");
  AppendNumber(out, i, 10, 11);
  out.push_back('_');
  AppendNumber(out, Mix(i) >> 32, 16, 8);
  out.append(".jpg");
}

void AppendDirectory(std::string& out, uint64_t i) {
  out.append("dir-");
  AppendNumber(out, i, 10, 8);
  out.push_back('/');
}

void MakeKey(std::string& key, const std::string& shape, uint64_t i) {
  key.clear();
  if (shape == "wide") {
    AppendName(key, i);
    key.append("/file");
    return;
  }
  if (shape == "deep") {
    AppendDirectory(key, i / 300);
    for (uint64_t level = 0; level < i % 300; ++level) key.append("d/");
    key.push_back('a');
    return;
  }
  if (shape != "flat") AppendDirectory(key, i / (shape == "small" ? 10 : 1000));
  AppendName(key, i);
}

// Makes the listing page by page; the time that takes is not counted.
class Pages {
 public:
  Pages(std::string shape, uint64_t keys)
      : shape_(std::move(shape)), keys_(keys), strings_(kPage), etags_(kPage) {}

  bool Next() {
    objects_.clear();
    for (size_t n = 0; n < kPage && next_ < keys_; ++n, ++next_) {
      MakeKey(strings_[n], shape_, next_);
      etags_[n].clear();
      AppendNumber(etags_[n], Mix(next_), 16, 16);
      AppendNumber(etags_[n], Mix(~next_), 16, 16);
      ListedObject object;
      object.key = strings_[n];
      object.etag = etags_[n];
      object.size = 100'000 + next_ % 1000;
      object.modified_ms = 1'700'000'000'123 + static_cast<int64_t>(next_);
      objects_.push_back(object);
    }
    return !objects_.empty();
  }
  const std::vector<ListedObject>& objects() const { return objects_; }

 private:
  const std::string shape_;
  const uint64_t keys_;
  uint64_t next_ = 0;
  std::vector<std::string> strings_, etags_;
  std::vector<ListedObject> objects_;
};

int Run(const std::string& directory, const std::string& shape, uint64_t keys) {
  IndexBuildSettings settings;
  settings.directory = directory;
  settings.source = "oss://bench";
  settings.now = absl::Now();
  auto builder = IndexBuilder::Create(settings);
  if (!builder.ok()) return printf("%s\n", builder.status().ToString().c_str()), 1;
  double adding = 0, adding_cpu = 0;
  long anonymous = 0;
  Pages pages(shape, keys);
  for (uint64_t page = 0; pages.Next(); ++page) {
    const double before = Seconds(), before_cpu = CpuSeconds();
    if (auto status = (*builder)->Add(pages.objects()); !status.ok()) {
      return printf("%s\n", status.ToString().c_str()), 1;
    }
    adding += Seconds() - before;
    adding_cpu += CpuSeconds() - before_cpu;
    if (page % 100 == 0) anonymous = std::max(anonymous, StatusKib("RssAnon"));
  }
  const double before = Seconds(), before_cpu = CpuSeconds();
  auto manifest = (*builder)->Finish(IndexReport());
  if (!manifest.ok()) return printf("%s\n", manifest.status().ToString().c_str()), 1;
  anonymous = std::max(anonymous, StatusKib("RssAnon"));
  const double finish = Seconds() - before, finish_cpu = CpuSeconds() - before_cpu;
  const auto n = static_cast<double>(keys);
  absl::PrintF(
      "{\"name\":\"index_builder\",\"shape\":\"%s\",\"keys\":%d,\"add_seconds\":%.2f,\"finish_seconds\":%.2f,"
      "\"cpu_us_per_key\":%.3f,\"image_bytes_per_key\":%.1f,\"table_bytes_per_key\":%.1f,\"anonymous_mib\":%"
      "d}\n",
      shape, keys, adding, finish, 1e6 * (adding_cpu + finish_cpu) / n,
      static_cast<double>(manifest->report.image_bytes) / n,
      static_cast<double>(manifest->report.table_bytes) / n, anonymous / 1024);
  return 0;
}

}  // namespace
}  // namespace bucketvol

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "usage: index_builder_bench DIRECTORY [SHAPE [KEYS]]\n"), 2;
  return bucketvol::Run(argv[1], argc > 2 ? argv[2] : "even",
                        argc > 3 ? strtoull(argv[3], nullptr, 10) : 10'000'000);
}
