#include "mounter/objstore/http_object_store.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/objstore/get_exchange.h"
#include "mounter/objstore/head_exchange.h"
#include "mounter/objstore/list_exchange.h"

namespace bucketvol {

HttpObjectStore::HttpObjectStore(BucketSettings settings, std::unique_ptr<HttpTransport> transport,
                                 CredentialProvider& credentials, const Clock& clock, Executor& executor,
                                 StoreMetrics& metrics, RequestGate* gate)
    : transport_(std::move(transport)),
      factory_(std::move(settings), clock),
      credentials_(credentials),
      executor_(executor),
      metrics_(metrics),
      gate_(gate) {}

HttpObjectStore::~HttpObjectStore() {
  Shutdown();
  in_flight_.WaitForNone();
}

std::string HttpObjectStore::What(absl::string_view verb, absl::string_view key) const {
  const BucketSettings& settings = factory_.settings();
  return absl::StrCat("cannot ", verb, " ", UrlScheme(settings.dialect), settings.bucket,
                      key.empty() ? "" : "/", Printable(key));
}

void HttpObjectStore::List(ListRequest request, ListCallback done) {
  std::string what = What("list", request.prefix);
  Exchange::Run(std::make_unique<ListExchange>(Parts(), std::move(what), request, std::move(done)));
}

void HttpObjectStore::Get(GetRequest request, GetSink* sink) {
  std::string what = What("read", request.key);
  Exchange::Run(std::make_unique<GetExchange>(Parts(), std::move(what), std::move(request), sink));
}

void HttpObjectStore::Head(std::string key, HeadCallback done) {
  std::string what = What("look up", key);
  Exchange::Run(std::make_unique<HeadExchange>(Parts(), std::move(what), std::move(key), std::move(done)));
}

}  // namespace bucketvol
