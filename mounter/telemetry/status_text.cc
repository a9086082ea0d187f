#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "mounter/base/log.h"
#include "mounter/telemetry/status_document.h"

namespace bucketvol {
namespace {

/// "1.5 GiB", "12 KiB", "7 B": three digits at most, like the sizes of df -h.
std::string Bytes(uint64_t bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  const int decimals = unit > 0 && value < 99.95 ? 1 : 0;
  return absl::StrFormat("%.*f %s", decimals, value, kUnits[unit]);
}

/// "12,345,678".
std::string Count(uint64_t value) {
  std::string digits = absl::StrCat(value);
  for (size_t position = digits.size(); position > 3;) digits.insert(position -= 3, 1, ',');
  return digits;
}

class Lines {
 public:
  template <typename... Parts>
  void Add(absl::string_view name, const Parts&... parts) {
    absl::StrAppendFormat(&text_, "%-11s", name);
    absl::StrAppend(&text_, parts..., "\n");
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string CountsByName(const std::map<std::string, uint64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) {
    if (count > 0) parts.push_back(absl::StrCat(Count(count), " ", Printable(name)));
  }
  return absl::StrJoin(parts, ", ");
}

void AddIndex(const StatusDocument::Index& index, Lines& lines) {
  lines.Add("index", Count(index.files), " files in ", Count(index.directories), " directories, ",
            Bytes(index.bytes));
  lines.Add("", "image ", Bytes(index.image_bytes), ", table ", Bytes(index.table_bytes));
  if (!index.built_at.empty()) {
    lines.Add("", "built ", index.built_at, " in ", absl::StrFormat("%.1f", index.build_seconds), " s with ",
              Count(index.list_requests), " list requests, ", index.list_streams_peak, " at once");
  }
  const std::string skipped = CountsByName(index.skipped);
  if (!skipped.empty()) lines.Add("skipped", skipped);
}

void AddTraffic(const StatusDocument& document, Lines& lines) {
  const StatusDocument::Read& read = document.read;
  const StatusDocument::Store& store = document.store;
  lines.Add("read", Bytes(read.bytes), " in ", Count(read.requests), " requests: ", Bytes(read.from_memory),
            " from memory, ", Bytes(read.from_disk), " from disk, ", Bytes(read.from_store),
            " from the store");
  if (read.errors + read.stale_objects + read.timed_out > 0) {
    lines.Add("", Count(read.errors), " errors, ", Count(read.stale_objects), " stale objects, ",
              Count(read.timed_out), " timed out");
  }
  const std::string requests = CountsByName(store.requests);
  lines.Add("store", requests.empty() ? "no requests" : requests, "; ", Bytes(store.bytes_in), " in, ",
            Bytes(store.bytes_out), " out; ", Count(store.in_flight), " in flight");
  if (store.retries + store.throttled + store.errors > 0) {
    lines.Add("", Count(store.retries), " retries, ", Count(store.throttled), " throttled, ",
              Count(store.errors), " errors");
  }
  if (store.hedged + store.stalled > 0) {
    lines.Add("", Count(store.hedged), " slow requests sent twice, ", Count(store.stalled), " stalled");
  }
}

void AddMemory(const StatusDocument& document, Lines& lines) {
  const std::string limit =
      document.memory.limit == 0 ? "" : absl::StrCat("; the worker may use ", Bytes(document.memory.limit));
  lines.Add("memory", Bytes(document.memory.used), " of ", Bytes(document.memory.budget), " for data", limit);
  if (document.memory.limit > 0) {
    lines.Add("", "in its cgroup ", Bytes(document.memory.charged), ", at most so far ",
              Bytes(document.memory.peak),
              document.memory.kills == 0
                  ? ""
                  : absl::StrCat("; killed at the limit ", Count(document.memory.kills), " times"));
  }
  if (document.cpu.limit > 0) {
    lines.Add("processors", absl::StrFormat("%.4g of the node's; held up for %.1f s", document.cpu.limit,
                                            document.cpu.throttled_seconds));
  }
  if (!document.cache.dir.empty()) {
    lines.Add("cache", Bytes(document.cache.used), " of ", Bytes(document.cache.capacity), " in ",
              Printable(document.cache.dir));
  }
}

}  // namespace

std::string StatusDocument::ToText() const {
  Lines lines;
  lines.Add("source", Printable(source));
  lines.Add("mounted at", Printable(mountpoint));
  for (const std::string& other : mountpoints) {
    if (other != mountpoint) lines.Add("", "and at ", Printable(other));
  }
  lines.Add("state", state);
  std::string how = kind;
  if (!index_fs.empty()) absl::StrAppend(&how, ", ", index_fs);
  if (!transport.empty()) absl::StrAppend(&how, " by ", transport);
  lines.Add("kind", how);
  lines.Add("processes", "guard ", pid.guard, ", worker ", pid.worker, ", restarted ", worker_restarts,
            " times");
  if (kind == "image") AddIndex(index, lines);
  AddTraffic(*this, lines);
  AddMemory(*this, lines);
  if (!last_error.empty()) lines.Add("last error", Printable(last_error));
  return lines.Take();
}

}  // namespace bucketvol
