#include "mounter/objstore/curl_transport.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/address_book.h"
#include "mounter/objstore/http_loop.h"

namespace bucketvol {
namespace {

class CurlTransport final : public HttpTransport {
 public:
  CurlTransport(const TransportSettings& settings, const Clock& clock)
      : settings_(settings), clock_(clock), addresses_(clock, settings_.resolve) {}

  absl::Status StartLoop() {
    ASSIGN_OR_RETURN(std::unique_ptr<HttpLoop> loop, MakeHttpLoop(settings_, clock_, addresses_));
    loops_.push_back(std::move(loop));
    return absl::OkStatus();
  }

  void Send(HttpRequest request, HttpResponseSink* sink) override {
    const auto least = std::min_element(loops_.begin(), loops_.end(), [](const auto& a, const auto& b) {
      return a->in_flight() < b->in_flight();
    });
    (*least)->Send(std::move(request), sink);
  }

  void Shutdown() override {
    for (const auto& loop : loops_) loop->Shutdown();
  }

 private:
  const TransportSettings settings_;
  const Clock& clock_;
  AddressBook addresses_;
  std::vector<std::unique_ptr<HttpLoop>> loops_;
};

int LoopsOf(const TransportSettings& settings) {
  return settings.threads > 0 ? settings.threads : EventLoopsFor(std::thread::hardware_concurrency());
}

}  // namespace

int EventLoopsFor(double processors) { return std::clamp(static_cast<int>(processors / 4), 1, 4); }

absl::StatusOr<std::unique_ptr<HttpTransport>> MakeCurlTransport(const TransportSettings& settings,
                                                                 const Clock& clock) {
  if (!settings.ca_file.empty()) {
    const absl::StatusOr<UniqueFd> readable = OpenFile(settings.ca_file, 0);
    if (!readable.ok()) return Annotate(readable.status(), "cannot use ca_file");
  }
  auto transport = std::make_unique<CurlTransport>(settings, clock);
  for (int i = 0; i < LoopsOf(settings); ++i) RETURN_IF_ERROR(transport->StartLoop());
  return transport;
}

}  // namespace bucketvol
