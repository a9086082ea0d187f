#include "mounter/objstore/store_factory.h"

#include <utility>

#include "absl/random/random.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/executor.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/hedged_store.h"
#include "mounter/objstore/http_object_store.h"
#include "mounter/objstore/metered_store.h"
#include "mounter/objstore/retrying_store.h"
#include "mounter/objstore/throttled_store.h"

namespace bucketvol {
namespace {

class SharedRandom {
 public:
  double Next() {
    absl::MutexLock lock(&mu_);
    return absl::Uniform(bits_, 0.0, 1.0);
  }

 private:
  absl::Mutex mu_;  // Leaf.
  absl::InsecureBitGen bits_ ABSL_GUARDED_BY(mu_);
};

std::string RouteTo(const Endpoint& endpoint, const ProxySettings& settings) {
  const std::string proxy = ProxyFor(settings, endpoint.scheme, endpoint.host);
  return absl::StrCat(endpoint.scheme, "://", endpoint.Authority(),
                      proxy.empty() ? " directly" : absl::StrCat(" by proxy ", DescribeProxy(proxy)));
}

// Members in the order of the layers, from the wire up: each is destroyed before those it stands on.
class ComposedStore final : public BucketStore {
 public:
  ComposedStore(const StoreSettings& settings, BucketSettings bucket,
                std::unique_ptr<HttpTransport> transport, CredentialProvider& credentials, const Clock& clock)
      : route_(RouteTo(bucket.endpoint, settings.transport.proxy)),
        timers_("bv-store", 1),
        gate_(settings.request_rate, clock, metrics_),
        http_(std::move(bucket), std::move(transport), credentials, clock, timers_, metrics_, &gate_),
        throttled_(Hedged(settings, clock), gate_, timers_),
        retrying_(
            throttled_, settings.retry, clock, timers_, [this] { return random_.Next(); }, metrics_),
        metered_(retrying_, metrics_) {}
  ~ComposedStore() override { Shutdown(); }

  void List(ListRequest request, ListCallback done) override {
    metered_.List(std::move(request), std::move(done));
  }
  void Get(GetRequest request, GetSink* sink) override { metered_.Get(std::move(request), sink); }
  void Head(std::string key, HeadCallback done) override { metered_.Head(std::move(key), std::move(done)); }

  const StoreMetrics& metrics() const override { return metrics_; }
  std::string Route() const override { return route_; }
  void Observe(std::shared_ptr<CongestionObserver> observer) override { gate_.Observe(std::move(observer)); }
  void Shutdown() override {
    retrying_.Close();
    throttled_.Close();
    if (hedged_) hedged_->Close();
    http_.Shutdown();
  }

 private:
  ObjectStore& Hedged(const StoreSettings& settings, const Clock& clock) {
    if (!settings.hedge) return http_;
    return hedged_.emplace(http_, *settings.hedge, gate_, clock, timers_, metrics_);
  }

  const std::string route_;
  StoreMetrics metrics_;
  SharedRandom random_;
  ThreadPool timers_;
  RequestGate gate_;
  HttpObjectStore http_;
  std::optional<HedgedStore> hedged_;
  ThrottledStore throttled_;
  RetryingStore retrying_;
  MeteredStore metered_;
};

// Only what would break a URL or a signature: the service knows its own rules best.
absl::Status CheckBucketName(absl::string_view bucket) {
  if (bucket.empty()) return absl::InvalidArgumentError("the source names no bucket");
  for (const char c : bucket) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_') continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the bucket's name may hold letters, digits, '-', '.' and '_' only: ", Printable(bucket)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> RegionFor(const StoreSettings& settings, const Endpoint& endpoint) {
  if (!settings.region.empty()) return settings.region;
  if (const std::optional<std::string> region = RegionOfHost(endpoint.host)) return *region;
  switch (settings.signature) {
    case Signature::kOssV1:
      return std::string();
    case Signature::kAwsV4:
      return std::string("us-east-1");
    case Signature::kOssV4:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "region= is missing: signature version 4 needs it, and url= does not tell: ", endpoint.host));
}

}  // namespace

absl::StatusOr<std::unique_ptr<BucketStore>> MakeObjectStore(const StoreSettings& settings,
                                                             CredentialProvider& credentials,
                                                             const Clock& clock) {
  RETURN_IF_ERROR(CheckBucketName(settings.bucket));
  BucketSettings bucket;
  bucket.dialect = settings.dialect;
  bucket.signature = settings.signature;
  bucket.addressing = settings.addressing;
  bucket.bucket = settings.bucket;
  bucket.list_version = settings.list_version;
  ASSIGN_OR_RETURN(Endpoint endpoint, ParseEndpoint(settings.url));
  bucket.endpoint = WithoutBucket(std::move(endpoint), settings.bucket);
  ASSIGN_OR_RETURN(bucket.region, RegionFor(settings, bucket.endpoint));
  ASSIGN_OR_RETURN(std::unique_ptr<HttpTransport> transport, MakeCurlTransport(settings.transport, clock));
  return std::make_unique<ComposedStore>(settings, std::move(bucket), std::move(transport), credentials,
                                         clock);
}

}  // namespace bucketvol
