#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/bucketd/http_client.h"
#include "test/bucketd/http_server.h"
#include "test/bucketd/service.h"
#include "test/bucketd/synthetic_spec.h"

namespace bucketvol::bucketd {

/// The whole service in this process, on a port of its own.
class RunningService {
 public:
  struct Setup {
    std::string root;                    // Empty: no directories.
    std::vector<std::string> synthetic;  // Specs.
    std::string config;                  // Lines of flag=value.
    int threads = 1;
  };

  explicit RunningService(const Setup& setup) {
    auto buckets = std::make_unique<BucketStore>();
    if (!setup.root.empty()) Require(buckets->OpenRoot(setup.root));
    for (const std::string& spec : setup.synthetic) Require(buckets->AddSynthetic(*ParseSyntheticSpec(spec)));
    Settings settings;
    Require(ApplyLines(setup.config, settings));
    service_ =
        std::make_unique<Service>(std::move(buckets), std::move(settings), setup.threads, Clock::Real());
    HttpServerSettings server_settings;
    server_settings.threads = setup.threads;
    auto server = HttpServer::Start(server_settings, *service_, Clock::Real());
    Require(server.status());
    server_ = *std::move(server);
  }

  int port() const { return server_->port(); }
  Service& service() { return *service_; }
  void Config(absl::string_view lines) { Require(service_->settings().Apply(lines)); }
  /// On a new connection.
  HttpAnswer Do(absl::string_view method, absl::string_view target, const HeaderList& headers = {},
                absl::string_view body = "") {
    return HttpClient(port()).Do(method, target, headers, body);
  }
  HttpAnswer Get(absl::string_view target, const HeaderList& headers = {}) {
    return Do("GET", target, headers);
  }

 private:
  static void Require(const absl::Status& status) { ASSERT_TRUE(status.ok()) << status; }

  std::unique_ptr<Service> service_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace bucketvol::bucketd
