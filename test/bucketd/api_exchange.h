#pragma once

#include <optional>
#include <string>

#include "test/bucketd/api_request.h"
#include "test/bucketd/authenticate.h"
#include "test/bucketd/fault.h"
#include "test/bucketd/http_server.h"
#include "test/bucketd/request_body.h"
#include "test/bucketd/service_error.h"
#include "test/bucketd/settings.h"

namespace bucketvol::bucketd {

class Service;

/// One request to the object API: decoded and authenticated at its head, answered at its end.
class ApiExchange final : public Exchange {
 public:
  ApiExchange(Service& service, const HttpRequest& request, int worker);
  ~ApiExchange() override;

  bool wants_body() const override { return !refusal_.has_value(); }
  void OnBody(absl::string_view data) override;
  Reply Finish() override;
  void OnSent(uint64_t body_bytes) override;

 private:
  void Open(const Settings& settings);
  void Identify(const Settings& settings);
  void Note();
  void PrepareBody();
  Outcome<Reply> Answer(const Settings& settings);
  void Complete(Reply& reply, const Settings& settings);
  void SetPace(Reply& reply, const Settings& settings);

  Service& service_;
  const HttpRequest& http_;
  const int worker_;
  ApiRequest request_;
  int64_t now_ = 0;  // Unix seconds by the server's clock.
  std::string request_id_;
  std::optional<ServiceError> refusal_;  // Known before the body.
  Fault fault_;
  uint64_t log_number_ = 0;
  int status_ = 0;
  std::optional<Authentication> authentication_;
  RequestBody body_;
};

}  // namespace bucketvol::bucketd
