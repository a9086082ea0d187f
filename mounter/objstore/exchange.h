#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "mounter/base/executor.h"
#include "mounter/objstore/credential_provider.h"
#include "mounter/objstore/http_transport.h"
#include "mounter/objstore/in_flight.h"
#include "mounter/objstore/object_store.h"
#include "mounter/objstore/request_factory.h"
#include "mounter/objstore/request_gate.h"
#include "mounter/objstore/store_metrics.h"

namespace bucketvol {

/// What all exchanges of one store share. Borrowed parts outlive them.
struct ExchangeParts {
  HttpTransport& transport;
  RequestFactory& factory;
  CredentialProvider& credentials;
  Executor& executor;
  InFlight& in_flight;
  StoreMetrics& metrics;  // Counts what was sent.
  RequestGate* gate;      // Hears of answers that the service held back. May be null.
};

/// One operation, from its first request to its result: sends, counts what was sent, tells success from
/// failure by the status before any body is looked at, and sends again, newly signed, after a refusal that
/// can be put right (once for each cause: credentials, clock, place).
///
/// Owns itself: Run takes it over, and it is gone after its result was given.
class Exchange : public HttpResponseSink {
 public:
  /// Its requests count as `kind`. `what` begins every message: "cannot read oss://bucket/key".
  Exchange(const ExchangeParts& parts, StoreOperation kind, Operation operation, std::string what,
           absl::Duration deadline, std::shared_ptr<Cancellation> cancellation,
           std::shared_ptr<LastPlace> last_place);

  static void Run(std::unique_ptr<Exchange> exchange);

 protected:
  /// Takes note that the service has a request.
  virtual void NoteSent() {}
  /// Looks at the head of an answer with a 2xx status. An error ends the exchange with it; the body is not
  /// read.
  virtual absl::Status Accept(const HttpResponseHead& head) = 0;
  /// Takes the next bytes of an accepted answer.
  virtual absl::Status Take(absl::Span<const char> data) = 0;
  /// Gives the result: OK when the whole body of an accepted answer was taken.
  virtual void Finish(absl::Status status) = 0;

  /// A retryable DataLoss of this exchange.
  absl::Status BadAnswer(absl::string_view why) const;
  const std::string& what() const { return what_; }
  StoreMetrics& metrics() const { return parts_.metrics; }
  const BucketSettings& settings() const { return parts_.factory.settings(); }

 private:
  void Send();
  void End(absl::Status status);
  bool PutRight();
  bool RenewCredentials();
  bool SetClock();
  bool Redirect();
  absl::Status FailureStatus() const;

  void OnSent() final;
  bool OnHead(const HttpResponseHead& head) final;
  bool OnBody(absl::Span<const char> data) final;
  void OnDone(absl::Status status) final;

  const ExchangeParts parts_;
  const StoreOperation kind_;
  const Operation operation_;
  const std::string what_;
  const absl::Duration deadline_;
  const std::shared_ptr<Cancellation> cancellation_;
  const std::shared_ptr<LastPlace> last_place_;

  // Of the attempt.
  Credentials credentials_;
  std::optional<RequestFactory::Target> elsewhere_;
  absl::Status verdict_;                 // Accept's and Take's.
  std::optional<ServiceError> failure_;  // Of an answer that is no success.
  std::string failure_body_;

  // Which remedies have been tried.
  bool renewed_ = false;
  bool clock_set_ = false;
  int redirections_ = 0;
};

}  // namespace bucketvol
