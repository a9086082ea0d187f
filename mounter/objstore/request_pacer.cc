#include "mounter/objstore/request_pacer.h"

#include <algorithm>
#include <cmath>

namespace bucketvol {
namespace {

constexpr absl::Duration kWindow = absl::Seconds(1);
constexpr double kCut = 0.7;
constexpr double kGrowth = 1.1;
// Below so many requests per second one client is not what troubles a service, and the back-off of its
// retries is enough.
constexpr double kLeastRate = 50;
constexpr double kForgetFactor = 10;
// One answer in so many, and fewer than so many in a window, tell nothing of the rate.
constexpr int kBearableOneIn = 50;
constexpr int kBearable = 5;
// A tenth of a second's worth may go out at once, so that timers need not be exact.
constexpr absl::Duration kBurst = absl::Milliseconds(100);

}  // namespace

absl::Duration RequestPacer::Admit(absl::Duration now) {
  PassWindows(now);
  if (rate_ == kUnlimited) return absl::ZeroDuration();
  next_ = std::max(next_, now - kBurst);
  const absl::Duration wait = std::max(next_ - now, absl::ZeroDuration());
  next_ += absl::Seconds(1 / rate_);
  return wait;
}

bool RequestPacer::TryAdmit(absl::Duration now) {
  PassWindows(now);
  if (rate_ != kUnlimited && next_ > now) return false;
  Admit(now);
  return true;
}

void RequestPacer::OnSend(absl::Duration now) {
  PassWindows(now);
  ++sent_;
}

void RequestPacer::OnAnswer(absl::Duration now, bool throttled) {
  PassWindows(now);
  if (!throttled) return;
  ++throttled_;
  if (!cut_in_window_ && throttled_ >= kBearable && throttled_ * kBearableOneIn > sent_) Cut(now);
}

void RequestPacer::PassWindows(absl::Duration now) {
  const double windows = std::floor(absl::FDivDuration(now - window_begin_, kWindow));
  if (windows < 1) return;
  last_rate_ = windows == 1 ? sent_ : 0;
  if (!cut_in_window_ && rate_ != kUnlimited) {
    rate_ = std::min(configured_, rate_ * std::pow(kGrowth, windows));
    if (configured_ == kUnlimited && rate_ > kForgetFactor * rate_of_cut_) rate_ = kUnlimited;
  }
  window_begin_ += windows * kWindow;
  sent_ = throttled_ = 0;
  cut_in_window_ = false;
}

void RequestPacer::Cut(absl::Duration now) {
  const double seconds = std::max(0.1, absl::ToDoubleSeconds(now - window_begin_));
  const double lately = std::max(last_rate_, sent_ / seconds);
  rate_ = std::max(kLeastRate, kCut * std::min(rate_, lately));
  rate_ = std::min(rate_, configured_);
  rate_of_cut_ = rate_;
  window_begin_ = now;  // A whole second passes before the next cut.
  sent_ = throttled_ = 0;
  cut_in_window_ = true;
}

}  // namespace bucketvol
