#include "test/bucketd/service.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "test/bucketd/admin_exchange.h"
#include "test/bucketd/api_exchange.h"
#include "test/bucketd/content.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {

Service::Service(std::unique_ptr<BucketStore> buckets, Settings settings, int workers, const Clock& clock)
    : buckets_(std::move(buckets)),
      clock_(clock),
      settings_(std::move(settings), workers),
      stats_(workers),
      dates_(static_cast<size_t>(workers)),
      id_seed_(MixBits(static_cast<uint64_t>(absl::ToUnixNanos(clock.WallNow())))) {}

std::unique_ptr<Exchange> Service::Begin(const HttpRequest& request, int worker) {
  if (absl::StartsWith(request.path, "/-/")) return std::make_unique<AdminExchange>(*this, request);
  return std::make_unique<ApiExchange>(*this, request, worker);
}

std::string Service::NewRequestId() {
  const uint64_t number = last_id_.fetch_add(1, std::memory_order_relaxed) + 1;
  char buffer[32];
  char* out = WriteHex64(id_seed_ ^ MixBits(number), buffer, /*upper=*/true);
  WriteHex64(MixBits(number + id_seed_), out, /*upper=*/true);
  return std::string(buffer, 24);
}

uint64_t Service::NextChance(uint64_t seed) {
  return MixBits(seed ^ (chances_.fetch_add(1, std::memory_order_relaxed) * 0x9e3779b97f4a7c15u));
}

const std::string& Service::DateHeader(int64_t now, int worker) {
  CachedDate& cached = dates_[static_cast<size_t>(worker)];
  if (cached.second != now) {
    cached.second = now;
    cached.header = absl::StrCat("Date: ", HttpTime(now), "\r\n");
  }
  return cached.header;
}

}  // namespace bucketvol::bucketd
