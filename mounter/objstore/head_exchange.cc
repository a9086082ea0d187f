#include "mounter/objstore/head_exchange.h"

#include <utility>

#include "mounter/objstore/http_fields.h"

namespace bucketvol {
namespace {

Operation HeadOperation(std::string key) {
  Operation operation;
  operation.method = HttpMethod::kHead;
  operation.key = std::move(key);
  return operation;
}

}  // namespace

HeadExchange::HeadExchange(const ExchangeParts& parts, std::string what, std::string key, HeadCallback done)
    : Exchange(parts, StoreOperation::kHead, HeadOperation(std::move(key)), std::move(what),
               absl::InfiniteDuration(), nullptr, nullptr),
      done_(std::move(done)) {}

absl::Status HeadExchange::Accept(const HttpResponseHead& head) {
  const std::optional<uint64_t> size = head.ContentLength();
  if (!size) return BadAnswer("the answer does not tell the object's size");
  info_.size = *size;
  info_.etag = std::string(UnquoteEtag(head.Value("etag")));
  const std::optional<absl::Time> modified = ParseHttpDate(head.Value("last-modified"));
  if (!modified) return BadAnswer("the answer does not tell when the object was modified");
  info_.modified_ms = absl::ToUnixMillis(*modified);
  return absl::OkStatus();
}

absl::Status HeadExchange::Take(absl::Span<const char>) { return BadAnswer("the answer to HEAD has a body"); }

void HeadExchange::Finish(absl::Status status) {
  if (!status.ok()) {
    std::move(done_)(std::move(status));
  } else {
    std::move(done_)(std::move(info_));
  }
}

}  // namespace bucketvol
