#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "test/bucketd/http_server.h"
#include "test/bucketd/options.h"
#include "test/bucketd/service.h"
#include "test/bucketd/synthetic_commands.h"

namespace bucketvol::bucketd {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

int Complain(const absl::Status& status, int exit_code) {
  fprintf(stderr, "bucketd: %s\n", std::string(status.message()).c_str());
  return exit_code;
}

absl::StatusOr<std::unique_ptr<BucketStore>> MakeBuckets(const Options& options) {
  auto buckets = std::make_unique<BucketStore>();
  if (!options.root.empty()) RETURN_IF_ERROR(buckets->OpenRoot(options.root));
  for (const SyntheticSpec& spec : options.synthetic) RETURN_IF_ERROR(buckets->AddSynthetic(spec));
  return buckets;
}

// Blocks the signals that end the server, before any thread exists, so that sigwait gets them.
sigset_t BlockEndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

void Announce(const Options& options, bool tls, uint16_t port) {
  const bool v6 = absl::StrContains(options.host, ":");
  printf("bucketd: listening on %s://%s%s%s:%u\n", tls ? "https" : "http", v6 ? "[" : "",
         options.host.c_str(), v6 ? "]" : "", port);
  fflush(stdout);
}

absl::Status Serve(const Options& options) {
  const sigset_t signals = BlockEndSignals();
  ASSIGN_OR_RETURN(std::unique_ptr<BucketStore> buckets, MakeBuckets(options));
  TlsContext tls;
  if (!options.tls_certificate.empty()) {
    ASSIGN_OR_RETURN(tls, LoadTlsContext(options.tls_certificate, options.tls_key));
  }
  HttpServerSettings settings;
  settings.host = options.host;
  settings.port = options.port;
  settings.threads = options.threads;
  if (settings.threads == 0)
    settings.threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 8);
  settings.tls = tls.get();
  Service service(std::move(buckets), options.settings, settings.threads, Clock::Real());
  ASSIGN_OR_RETURN(const std::unique_ptr<HttpServer> server,
                   HttpServer::Start(settings, service, Clock::Real()));
  Announce(options, tls != nullptr, server->port());
  int received = 0;
  sigwait(&signals, &received);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  const absl::Span<char* const> arguments(argv + 1, static_cast<size_t>(std::max(argc - 1, 0)));
  if (!arguments.empty() && absl::string_view(arguments[0]) == "expect") {
    const absl::Status status = RunExpect(arguments.subspan(1), STDOUT_FILENO);
    return status.ok() ? 0 : Complain(status, absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed);
  }
  if (!arguments.empty() && absl::string_view(arguments[0]) == "keys") {
    const absl::Status status = RunKeys(arguments.subspan(1), STDOUT_FILENO);
    return status.ok() ? 0 : Complain(status, absl::IsInvalidArgument(status) ? kExitUsage : kExitFailed);
  }
  const absl::StatusOr<Options> options = ParseOptions(arguments);
  if (!options.ok()) return Complain(options.status(), kExitUsage);
  if (options->help) {
    fwrite(HelpText().data(), 1, HelpText().size(), stdout);
    return 0;
  }
  const absl::Status status = Serve(*options);
  return status.ok() ? 0 : Complain(status, kExitFailed);
}

}  // namespace
}  // namespace bucketvol::bucketd

int main(int argc, char** argv) { return bucketvol::bucketd::Main(argc, argv); }
