// Builds indexes of synthetic listings and prints speed, sizes and peak anonymous memory:
//   index_builder_bench DIRECTORY [SHAPE [KEYS]]      SHAPE: even | flat | small | wide | deep
// even: 1,000 files per directory; flat: one directory; small: 10 files per directory; wide: one directory of
// sub-directories with one file each; deep: each directory holds one file and the next directory, 300 levels.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mounter/index/index_builder.h"

namespace bucketvol {
namespace {

constexpr size_t kPage = 1000;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double CpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// Peak resident memory that is not file pages, from /proc/self/status; the peak of the sum is what VmHWM bounds.
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

// Names of 40 bytes: a number in order, then bytes that look random.
std::string Name(uint64_t i) {
  return absl::StrFormat("sample-%010d-%016x.jpg", i, i * 0x9E3779B97F4A7C15u);
}

std::string Key(const std::string& shape, uint64_t i) {
  if (shape == "flat") return Name(i);
  if (shape == "small") return absl::StrFormat("dir-%08d/%s", i / 10, Name(i));
  if (shape == "wide") return absl::StrFormat("%s/file", Name(i));
  if (shape == "deep") {
    std::string path = absl::StrFormat("%08d/", i / 300);
    for (uint64_t level = 0; level < i % 300; ++level) path.append("d/");
    return path + "a";
  }
  return absl::StrFormat("dir-%08d/%s", i / 1000, Name(i));
}

// A page of keys, made once and offered again with other numbers would not be in order, so pages are generated; the time
// that takes is measured apart and taken off.
class Pages {
 public:
  Pages(std::string shape, uint64_t keys) : shape_(std::move(shape)), keys_(keys) {}

  bool Next() {
    objects_.clear();
    strings_.clear();
    strings_.reserve(kPage);
    etags_.clear();
    etags_.reserve(kPage);
    for (; objects_.size() < kPage && next_ < keys_; ++next_) {
      strings_.push_back(Key(shape_, next_));
      etags_.push_back(absl::StrFormat("%016X%016X", next_ * 0x9E3779B97F4A7C15u, ~next_ * 0xC2B2AE3D27D4EB4Fu));
      ListedObject object;
      object.key = strings_.back();
      object.etag = etags_.back();
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
  const double begin = Seconds();
  double adding = 0;
  long anonymous = 0;
  Pages pages(shape, keys);
  for (uint64_t page = 0; pages.Next(); ++page) {
    const double before = Seconds();
    if (auto status = (*builder)->Add(pages.objects()); !status.ok()) {
      return printf("%s\n", status.ToString().c_str()), 1;
    }
    adding += Seconds() - before;
    if (page % 100 == 0) anonymous = std::max(anonymous, StatusKib("RssAnon"));
  }
  const double before = Seconds();
  auto manifest = (*builder)->Finish(IndexReport());
  if (!manifest.ok()) return printf("%s\n", manifest.status().ToString().c_str()), 1;
  anonymous = std::max(anonymous, StatusKib("RssAnon"));
  const double finish = Seconds() - before;
  const auto n = static_cast<double>(keys);
  absl::PrintF(
      "{\"name\":\"index_builder\",\"shape\":\"%s\",\"keys\":%d,\"add_us_per_key\":%.3f,\"finish_seconds\":%.2f,"
      "\"wall_seconds\":%.2f,\"cpu_seconds\":%.2f,\"image_bytes_per_key\":%.1f,\"table_bytes_per_key\":%.1f,"
      "\"anonymous_mib\":%d}\n",
      shape, keys, 1e6 * adding / n, finish, Seconds() - begin, CpuSeconds(),
      static_cast<double>(manifest->report.image_bytes) / n, static_cast<double>(manifest->report.table_bytes) / n,
      anonymous / 1024);
  return 0;
}

}  // namespace
}  // namespace bucketvol

int main(int argc, char** argv) {
  if (argc < 2) return fprintf(stderr, "usage: index_builder_bench DIRECTORY [SHAPE [KEYS]]\n"), 2;
  return bucketvol::Run(argv[1], argc > 2 ? argv[2] : "even",
                        argc > 3 ? strtoull(argv[3], nullptr, 10) : 10'000'000);
}
