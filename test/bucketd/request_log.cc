#include "test/bucketd/request_log.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {

uint64_t RequestLog::Begin(const Arrival& arrival) {
  const uint64_t number = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  absl::MutexLock lock(&LockOf(number));
  Entry& entry = entries_[number % kCapacity];
  entry.number = number;
  entry.operation.assign(arrival.operation.data(), arrival.operation.size());
  entry.method.assign(arrival.method.data(), arrival.method.size());
  entry.bucket.assign(arrival.bucket.data(), arrival.bucket.size());
  entry.key.assign(arrival.key.data(), arrival.key.size());
  entry.range.assign(arrival.range.data(), arrival.range.size());
  entry.query.assign(arrival.query.data(), arrival.query.size());
  entry.status = 0;
  entry.bytes = 0;
  return number;
}

void RequestLog::End(uint64_t number, int status, uint64_t bytes) {
  absl::MutexLock lock(&LockOf(number));
  Entry& entry = entries_[number % kCapacity];
  if (entry.number != number) return;
  entry.status = status;
  entry.bytes = bytes;
}

void RequestLog::Clear() { cleared_.store(last_.load()); }

void RequestLog::AppendJson(std::string& out, const Entry& entry) {
  const auto field = [&out](absl::string_view name, absl::string_view value) {
    absl::StrAppend(&out, "\"", name, "\":\"");
    AppendJsonEscaped(out, value);
    out += "\",";
  };
  out += '{';
  field("op", entry.operation);
  field("method", entry.method);
  field("bucket", entry.bucket);
  field("key", entry.key);
  field("range", entry.range);
  field("query", entry.query);
  absl::StrAppend(&out, "\"status\":", entry.status, ",\"bytes\":", entry.bytes, "}");
}

std::string RequestLog::LastAsJson(uint64_t count) {
  const uint64_t last = last_.load();
  const uint64_t kept = std::min({count, kCapacity, last - cleared_.load()});
  std::string json = "[";
  for (uint64_t number = last - kept + 1; number <= last; ++number) {
    absl::MutexLock lock(&LockOf(number));
    const Entry& entry = entries_[number % kCapacity];
    if (entry.number != number) continue;
    json += json.size() == 1 ? "\n" : ",\n";
    AppendJson(json, entry);
  }
  json += "\n]\n";
  return json;
}

}  // namespace bucketvol::bucketd
