#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace bucketvol::bucketd {

/// The last requests, in order of arrival. Thread-safe; locks are striped, so that threads rarely meet.
class RequestLog {
 public:
  static constexpr uint64_t kCapacity = 128 * 1024;

  struct Arrival {
    absl::string_view operation;  // Name of its class.
    absl::string_view method;
    absl::string_view bucket;
    absl::string_view key;
    absl::string_view range;  // The Range header.
    absl::string_view query;  // As sent.
  };

  RequestLog() : entries_(kCapacity) {}

  /// Notes an arrival and returns its number for End.
  uint64_t Begin(const Arrival& arrival);
  /// Notes the answer. Does nothing when the entry is gone already.
  void End(uint64_t number, int status, uint64_t bytes);

  void Clear();
  /// The last `count` entries as a JSON array, one line each; a request that is still being answered has
  /// status 0.
  std::string LastAsJson(uint64_t count);

 private:
  struct Entry {
    uint64_t number = 0;  // 0: never used. Numbers begin at 1.
    std::string operation, method, bucket, key, range, query;
    int status = 0;
    uint64_t bytes = 0;
  };
  absl::Mutex& LockOf(uint64_t number) { return locks_[number % locks_.size()]; }
  static void AppendJson(std::string& out, const Entry& entry);

  std::atomic<uint64_t> last_{0};
  std::atomic<uint64_t> cleared_{0};   // Entries up to here do not count.
  std::array<absl::Mutex, 64> locks_;  // Entry n is guarded by lock n % 64. Leaves.
  std::vector<Entry> entries_;
};

}  // namespace bucketvol::bucketd
