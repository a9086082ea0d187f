#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "mounter/base/clock.h"
#include "test/bucketd/bucket_store.h"
#include "test/bucketd/http_server.h"
#include "test/bucketd/request_log.h"
#include "test/bucketd/settings.h"
#include "test/bucketd/stats.h"
#include "test/bucketd/upload_store.h"

namespace bucketvol::bucketd {

/// The object-store service behind the HTTP server: both dialects, faults, counters, admin calls.
/// Thread-safe.
class Service final : public Application {
 public:
  /// `clock` is borrowed. `workers`: threads of the server.
  Service(std::unique_ptr<BucketStore> buckets, Settings settings, int workers, const Clock& clock);

  std::unique_ptr<Exchange> Begin(const HttpRequest& request, int worker) override;
  void OnConnection() override { stats_.CountConnection(); }
  uint64_t TotalRate() const override { return settings_.total_rate(); }

  BucketStore& buckets() { return *buckets_; }
  Stats& stats() { return stats_; }
  UploadStore& uploads() { return uploads_; }
  RequestLog& log() { return log_; }
  LiveSettings& settings() { return settings_; }
  const Clock& clock() const { return clock_; }
  /// 24 upper-case hex digits, different for each request of this process.
  std::string NewRequestId();
  /// A number that decides the chances of one request under the tail profile.
  uint64_t NextChance(uint64_t seed);
  /// "Date: …\r\n" of `now`, from a cache per worker.
  const std::string& DateHeader(int64_t now, int worker);

 private:
  struct alignas(64) CachedDate {
    int64_t second = -1;
    std::string header;
  };

  const std::unique_ptr<BucketStore> buckets_;
  const Clock& clock_;
  UploadStore uploads_;
  LiveSettings settings_;
  Stats stats_;
  RequestLog log_;
  std::vector<CachedDate> dates_;  // One per worker.
  const uint64_t id_seed_;
  std::atomic<uint64_t> last_id_{0};
  std::atomic<uint64_t> chances_{0};
};

}  // namespace bucketvol::bucketd
