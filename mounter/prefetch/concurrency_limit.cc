#include "mounter/prefetch/concurrency_limit.h"

#include <algorithm>
#include <cmath>

#include "mounter/prefetch/link_meter.h"

namespace bucketvol {

namespace {

constexpr double kCut = 0.7;
constexpr absl::Duration kCutPause = absl::Milliseconds(500);  // One cut answers all complaints of this time.
// Throughput is compared over at least this much.
constexpr absl::Duration kComparedTime = absl::Milliseconds(500);
constexpr uint64_t kComparedBytes = 20'000'000;
constexpr double kGain = 1.03;       // Worth going on.
constexpr double kLargeGain = 1.25;  // The link is far from full.
constexpr uint64_t kUnit = 8 << 20;  // Of the limit in bytes: a usual part.
constexpr uint64_t kLeastRequests = 4;
constexpr uint64_t kLeastOpen = 16;  // Of the hard cap.

uint64_t Cut(uint64_t limit, uint64_t least) {
  return std::max(least, static_cast<uint64_t>(static_cast<double>(limit) * kCut));
}

uint64_t RootOf(uint64_t value) {
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::sqrt(static_cast<double>(value))));
}

}  // namespace

class ConcurrencyLimit::Impl {
 public:
  explicit Impl(const ConcurrencySettings& settings)
      : settings_(settings),
        requests_limit_(std::min(settings.prefetch_requests_start, settings.prefetch_requests_max)),
        bytes_limit_(std::min(settings.prefetch_bytes_start, settings.prefetch_bytes_max)),
        open_limit_(settings.requests_max) {}

  bool MayStart(Urgency urgency, uint64_t bytes) const;
  void OnStart(Urgency urgency, uint64_t bytes);
  void OnRaised(uint64_t bytes);
  void OnDone(const End& end, absl::Duration now);
  void OnSignal(LoadSignal signal, absl::Duration now);

  const ConcurrencySettings settings_;
  LinkMeter meter_;
  uint64_t requests_limit_;
  uint64_t bytes_limit_;
  uint64_t open_limit_;     // Of all requests.
  uint64_t in_flight_ = 0;  // Requests, all.
  uint64_t prefetches_ = 0;
  uint64_t prefetched_bytes_ = 0;

 private:
  void Take(Urgency urgency, uint64_t bytes);
  void GrowRequests();
  void GrowOpen();
  void CompareThroughput(uint64_t received, absl::Duration now);
  void AdjustBytes(double rate, absl::Duration now);
  bool Congested() const;

  bool throttled_ = false;         // Ever: no more doubling.
  uint64_t completed_ = 0;         // Since the last slow step of the limit in requests.
  bool requests_used_up_ = false;  // The limit was reached since the last comparison.
  bool bytes_used_up_ = false;
  bool held_back_ = false;  // Since the last comparison.
  bool open_used_up_ = false;
  uint64_t open_completed_ = 0;  // Since the last step of the hard cap.
  absl::Duration cut_at_ = -absl::InfiniteDuration();
  absl::Duration compared_at_;
  uint64_t compared_bytes_ = 0;
  double best_rate_ = 0;
};

bool ConcurrencyLimit::Impl::MayStart(Urgency urgency, uint64_t bytes) const {
  if (in_flight_ >= open_limit_) return false;
  if (urgency == Urgency::kDemand || prefetches_ == 0) return true;
  return prefetches_ < requests_limit_ && prefetched_bytes_ + bytes <= bytes_limit_;
}

void ConcurrencyLimit::Impl::OnStart(Urgency urgency, uint64_t bytes) {
  ++in_flight_;
  open_used_up_ |= in_flight_ >= open_limit_;
  if (urgency == Urgency::kDemand) return;
  ++prefetches_;
  prefetched_bytes_ += bytes;
  requests_used_up_ |= prefetches_ >= requests_limit_;
  bytes_used_up_ |= prefetched_bytes_ + kUnit > bytes_limit_;
}

void ConcurrencyLimit::Impl::OnRaised(uint64_t bytes) { Take(Urgency::kPrefetch, bytes); }

void ConcurrencyLimit::Impl::Take(Urgency urgency, uint64_t bytes) {
  if (urgency == Urgency::kDemand) return;
  --prefetches_;
  prefetched_bytes_ -= bytes;
}

// One more for each that ends doubles the limit per round trip. Afterwards: √c per round.
void ConcurrencyLimit::Impl::GrowRequests() {
  if (!requests_used_up_) return;
  ++completed_;
  if (!throttled_) {
    ++requests_limit_;
  } else if (completed_ >= requests_limit_) {
    requests_limit_ += RootOf(requests_limit_);
    completed_ = 0;
    requests_used_up_ = false;
  }
  requests_limit_ = std::min(requests_limit_, settings_.prefetch_requests_max);
}

void ConcurrencyLimit::Impl::GrowOpen() {
  if (open_limit_ >= settings_.requests_max || !open_used_up_ || ++open_completed_ < open_limit_) return;
  open_limit_ = std::min(open_limit_ + RootOf(open_limit_), settings_.requests_max);
  open_completed_ = 0;
  open_used_up_ = false;
}

// A limit far above what is in use is cut to a third at once: it would take many cuts until one is felt.
void ConcurrencyLimit::Impl::OnSignal(LoadSignal signal, absl::Duration now) {
  held_back_ |= signal == LoadSignal::kHeldBack;
  if (signal == LoadSignal::kHeldBack || now - cut_at_ < kCutPause) return;
  cut_at_ = now;
  switch (signal) {
    case LoadSignal::kTooManyRequests:
      throttled_ = true;
      requests_limit_ = Cut(std::clamp(prefetches_, requests_limit_ / 2, requests_limit_), kLeastRequests);
      return;
    case LoadSignal::kTooManyBytes:
      bytes_limit_ = Cut(std::clamp(prefetched_bytes_, bytes_limit_ / 2, bytes_limit_), kUnit);
      return;
    case LoadSignal::kTooManyAtATime:
      open_limit_ = std::min(open_limit_, Cut(in_flight_, kLeastOpen));
      open_completed_ = 0;
      return;
    case LoadSignal::kHeldBack:
      return;
  }
}

bool ConcurrencyLimit::Impl::Congested() const {
  return held_back_ || meter_.estimate().first_byte_p95 > 2 * meter_.base();
}

void ConcurrencyLimit::Impl::AdjustBytes(double rate, absl::Duration now) {
  const uint64_t units = std::max<uint64_t>(1, bytes_limit_ / kUnit);
  if (rate >= best_rate_ * kGain) {
    if (bytes_used_up_) bytes_limit_ += (rate >= best_rate_ * kLargeGain ? units / 2 : RootOf(units)) * kUnit;
  } else if (bytes_used_up_ && Congested() && now - cut_at_ >= kCutPause) {
    bytes_limit_ = Cut(bytes_limit_, settings_.prefetch_bytes_start);
    cut_at_ = now;
  }
  bytes_limit_ = std::min(bytes_limit_, settings_.prefetch_bytes_max);
  // The best of times fades, so that a link that became slower is tried anew.
  best_rate_ = std::max(rate, best_rate_ * 0.98);
  bytes_used_up_ = false;
  held_back_ = false;
}

void ConcurrencyLimit::Impl::CompareThroughput(uint64_t received, absl::Duration now) {
  compared_bytes_ += received;
  const absl::Duration time = now - compared_at_;
  if (time < kComparedTime || compared_bytes_ < kComparedBytes) return;
  AdjustBytes(static_cast<double>(compared_bytes_) / absl::ToDoubleSeconds(time), now);
  compared_at_ = now;
  compared_bytes_ = 0;
}

void ConcurrencyLimit::Impl::OnDone(const End& end, absl::Duration now) {
  --in_flight_;
  Take(end.urgency, end.bytes);
  meter_.OnBytes(end.received, now);
  if (end.outcome == FetchOutcome::kOk) {
    meter_.OnBody(end.received, end.transfer, now);
    GrowRequests();  // Raised ones, too: they were prefetches when the limit held others back.
    GrowOpen();
  }
  CompareThroughput(end.received, now);
}

ConcurrencyLimit::ConcurrencyLimit(const ConcurrencySettings& settings)
    : impl_(std::make_unique<Impl>(settings)) {}
ConcurrencyLimit::~ConcurrencyLimit() = default;
ConcurrencyLimit::ConcurrencyLimit(ConcurrencyLimit&&) noexcept = default;
ConcurrencyLimit& ConcurrencyLimit::operator=(ConcurrencyLimit&&) noexcept = default;

bool ConcurrencyLimit::MayStart(Urgency urgency, uint64_t bytes) const {
  return impl_->MayStart(urgency, bytes);
}
void ConcurrencyLimit::OnStart(Urgency urgency, uint64_t bytes) { impl_->OnStart(urgency, bytes); }
void ConcurrencyLimit::OnFirstByte(absl::Duration latency) { impl_->meter_.OnFirstByte(latency); }
void ConcurrencyLimit::OnRaised(uint64_t bytes) { impl_->OnRaised(bytes); }
void ConcurrencyLimit::OnDone(const End& end, absl::Duration now) { impl_->OnDone(end, now); }
void ConcurrencyLimit::OnSignal(LoadSignal signal, absl::Duration now) { impl_->OnSignal(signal, now); }
LinkEstimate ConcurrencyLimit::link() const { return impl_->meter_.estimate(); }
uint64_t ConcurrencyLimit::prefetch_requests_limit() const { return impl_->requests_limit_; }
uint64_t ConcurrencyLimit::prefetch_bytes_limit() const { return impl_->bytes_limit_; }
uint64_t ConcurrencyLimit::requests_in_flight() const { return impl_->in_flight_; }
uint64_t ConcurrencyLimit::requests_limit() const { return impl_->open_limit_; }

}  // namespace bucketvol
