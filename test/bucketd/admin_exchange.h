#pragma once

#include <string>

#include "test/bucketd/http_server.h"

namespace bucketvol::bucketd {

class Service;

/// GET /-/stats, POST /-/reset, GET /-/log?n=N, POST /-/config. Neither counted nor delayed nor refused.
class AdminExchange final : public Exchange {
 public:
  AdminExchange(Service& service, const HttpRequest& request) : service_(service), request_(request) {}

  bool wants_body() const override { return true; }
  void OnBody(absl::string_view data) override;
  Reply Finish() override;
  void OnSent(uint64_t) override {}

 private:
  Reply Reset();
  Reply Log() const;
  Reply Configure();

  Service& service_;
  const HttpRequest& request_;
  std::string body_;
};

}  // namespace bucketvol::bucketd
