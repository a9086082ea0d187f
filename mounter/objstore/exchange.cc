#include "mounter/objstore/exchange.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/store_error.h"

namespace bucketvol {
namespace {

// Error documents have about 500 bytes; web pages are only looked at.
constexpr size_t kMostFailureBytes = 64 * 1024;
// First the region, then the endpoint.
constexpr int kMostRedirections = 2;

// OSS tells how many milliseconds it held a request back to keep to the account's limits.
bool HeldBack(const HttpResponseHead& head) {
  int64_t milliseconds = 0;
  return absl::SimpleAtoi(head.Value("x-oss-qos-delay-time"), &milliseconds) && milliseconds > 0;
}

}  // namespace

Exchange::Exchange(const ExchangeParts& parts, StoreOperation kind, Operation operation, std::string what,
                   absl::Duration deadline, std::shared_ptr<Cancellation> cancellation,
                   std::shared_ptr<LastPlace> last_place)
    : parts_(parts),
      kind_(kind),
      operation_(std::move(operation)),
      what_(std::move(what)),
      deadline_(deadline),
      cancellation_(std::move(cancellation)),
      last_place_(std::move(last_place)) {}

void Exchange::Run(std::unique_ptr<Exchange> exchange) {
  exchange->parts_.in_flight.Enter();
  exchange.release()->Send();
}

void Exchange::Send() {
  absl::StatusOr<Credentials> credentials = parts_.credentials.Get();
  if (!credentials.ok()) {
    parts_.executor.Post([this, status = Annotate(credentials.status(), what_)] { End(status); });
    return;
  }
  credentials_ = *std::move(credentials);
  verdict_ = absl::OkStatus();
  failure_.reset();
  failure_body_.clear();
  HttpRequest request = parts_.factory.Make(operation_, credentials_, elsewhere_);
  request.deadline = deadline_;
  request.cancellation = cancellation_;
  request.last_place = last_place_;
  parts_.transport.Send(std::move(request), this);
}

void Exchange::End(absl::Status status) {
  const std::unique_ptr<Exchange> self(this);
  InFlight& in_flight = parts_.in_flight;
  Finish(std::move(status));
  in_flight.Leave();
}

void Exchange::OnSent() {
  parts_.metrics.CountRequest(kind_);
  NoteSent();
}

bool Exchange::OnHead(const HttpResponseHead& head) {
  if (parts_.gate != nullptr && HeldBack(head)) parts_.gate->OnHeldBack();
  if (head.status() / 100 != 2) {
    failure_ = ReadErrorHead(head);
    return true;
  }
  verdict_ = Accept(head);
  return verdict_.ok();
}

bool Exchange::OnBody(absl::Span<const char> data) {
  if (failure_) {
    const size_t room = kMostFailureBytes - failure_body_.size();
    failure_body_.append(data.data(), std::min(room, data.size()));
    return failure_body_.size() < kMostFailureBytes;
  }
  verdict_ = Take(data);
  return verdict_.ok();
}

void Exchange::OnDone(absl::Status status) {
  const bool cancelled = status.code() == absl::StatusCode::kCancelled;
  if (failure_ && !cancelled) {
    ReadErrorBody(failure_body_, *failure_);
    return PutRight() ? Send() : End(FailureStatus());
  }
  if (!verdict_.ok()) return End(verdict_);
  End(status.ok() ? status : Annotate(status, what_));
}

absl::Status Exchange::FailureStatus() const {
  return StatusOfServiceError(*failure_, settings().dialect, what_);
}

absl::Status Exchange::BadAnswer(absl::string_view why) const {
  StoreError error;
  error.message = std::string(why);
  error.retryable = true;
  return MakeStoreStatus(absl::StatusCode::kDataLoss, what_, error);
}

// Whether the cause of the refusal is away, so that the request may go out again.
bool Exchange::PutRight() {
  if (IsRefusalOfCredentials(*failure_)) return RenewCredentials();
  if (failure_->code == "RequestTimeTooSkewed") return SetClock();
  return Redirect();
}

bool Exchange::SetClock() { return !std::exchange(clock_set_, true) && parts_.factory.LearnClock(*failure_); }

bool Exchange::RenewCredentials() {
  if (std::exchange(renewed_, true) || credentials_.anonymous()) return false;
  parts_.credentials.Reject(credentials_);
  const absl::StatusOr<Credentials> newer = parts_.credentials.Get();
  return newer.ok() && !(*newer == credentials_);
}

bool Exchange::Redirect() {
  if (redirections_ == kMostRedirections) return false;
  const std::optional<RequestFactory::Redirection> redirection = parts_.factory.RedirectionOf(*failure_);
  if (!redirection) return false;
  ++redirections_;
  if (redirection->lasting) {
    parts_.factory.MoveTo(redirection->target);
  } else {
    elsewhere_ = redirection->target;
  }
  return true;
}

}  // namespace bucketvol
