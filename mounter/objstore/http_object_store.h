#pragma once

#include <memory>
#include <string>

#include "mounter/base/clock.h"
#include "mounter/base/executor.h"
#include "mounter/objstore/credential_provider.h"
#include "mounter/objstore/exchange.h"
#include "mounter/objstore/http_transport.h"
#include "mounter/objstore/in_flight.h"
#include "mounter/objstore/object_store.h"
#include "mounter/objstore/request_factory.h"

namespace bucketvol {

/// A bucket of OSS or S3, spoken to over HTTP. Each call is one request, but for the repetitions that a
/// refusal itself asks for (new credentials, clock, region). Checks that an answer is what was asked for
/// before any byte of it is passed on.
class HttpObjectStore final : public ObjectStore {
 public:
  /// Takes the transport; borrows the rest. `executor` delivers errors found before sending; `metrics` gets
  /// the requests that were sent, and nothing else; `gate` may be null.
  HttpObjectStore(BucketSettings settings, std::unique_ptr<HttpTransport> transport,
                  CredentialProvider& credentials, const Clock& clock, Executor& executor,
                  StoreMetrics& metrics, RequestGate* gate = nullptr);
  ~HttpObjectStore() override;

  void List(ListRequest request, ListCallback done) override;
  void Get(GetRequest request, GetSink* sink) override;
  void Head(std::string key, HeadCallback done) override;

  /// Ends all requests with Cancelled, also those to come.
  void Shutdown() { transport_->Shutdown(); }

 private:
  ExchangeParts Parts() {
    return {*transport_, factory_, credentials_, executor_, in_flight_, metrics_, gate_};
  }
  /// "cannot read oss://bucket/key".
  std::string What(absl::string_view verb, absl::string_view key) const;

  const std::unique_ptr<HttpTransport> transport_;
  RequestFactory factory_;
  CredentialProvider& credentials_;
  Executor& executor_;
  StoreMetrics& metrics_;
  RequestGate* const gate_;
  InFlight in_flight_;
};

}  // namespace bucketvol
