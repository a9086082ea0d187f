#include "mounter/objstore/get_exchange.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "mounter/objstore/http_fields.h"
#include "mounter/objstore/store_error.h"

namespace bucketvol {
namespace {

Operation GetOperation(const GetRequest& request, Dialect dialect) {
  Operation operation;
  operation.key = request.key;
  operation.headers.reserve(8);
  operation.headers.push_back(
      {"range", absl::StrCat("bytes=", request.range.begin, "-", request.range.end - 1)});
  if (!request.if_match.empty())
    operation.headers.push_back({"if-match", absl::StrCat("\"", request.if_match, "\"")});
  // Without it OSS answers a range that reaches beyond the end with the whole object.
  if (dialect == Dialect::kOss) operation.headers.push_back({"x-oss-range-behavior", "standard"});
  return operation;
}

}  // namespace

GetExchange::GetExchange(const ExchangeParts& parts, std::string what, GetRequest request, GetSink* sink)
    : Exchange(parts, StoreOperation::kGet, GetOperation(request, parts.factory.settings().dialect),
               std::move(what), absl::InfiniteDuration(), request.cancellation, request.last_place),
      request_(std::move(request)),
      sink_(sink) {}

void GetExchange::NoteSent() {
  if (request_.second) metrics().hedged.fetch_add(1, std::memory_order_relaxed);
}

absl::Status GetExchange::Changed(absl::string_view how) const {
  StoreError error;
  error.message = absl::StrCat("the object changed: ", how);
  return MakeStoreStatus(absl::StatusCode::kFailedPrecondition, what(), error);
}

// One version has one size, so with the right ETag it is the answer that is wrong.
absl::Status GetExchange::OtherSize(uint64_t size) const {
  if (right_version_) return BadAnswer(absl::StrCat("the answer tells another size of the object: ", size));
  return Changed(absl::StrCat("it has ", size, " bytes now"));
}

absl::Status GetExchange::Accept(const HttpResponseHead& head) {
  const absl::string_view etag = UnquoteEtag(head.Value("etag"));
  if (!request_.if_match.empty() && !etag.empty() && !SameEtag(etag, request_.if_match)) {
    return Changed("it has another ETag");
  }
  right_version_ = !request_.if_match.empty() && !etag.empty();
  absl::Status status = head.status() == 206   ? CheckPart(head)
                        : head.status() == 200 ? CheckWhole(head)
                                               : BadAnswer(absl::StrCat("unexpected status ", head.status()));
  if (!status.ok()) return status;
  if (head.ContentLength().value_or(request_.range.size()) != request_.range.size()) {
    return BadAnswer("the answer has another length than the range");
  }
  sink_->OnVersion(etag);
  // "x-oss-hash-crc64ecma: the CRC-64 value of the object", of GetObject in the OSS reference.
  uint64_t crc;
  if (absl::SimpleAtoi(head.Value("x-oss-hash-crc64ecma"), &crc)) sink_->OnObjectCrc64(crc);
  return absl::OkStatus();
}

absl::Status GetExchange::CheckPart(const HttpResponseHead& head) const {
  const std::optional<ContentRange> range = ParseContentRange(head.Value("content-range"));
  if (!range) return BadAnswer("the answer has no valid Content-Range");
  if (request_.object_size && range->total && *range->total != *request_.object_size) {
    return OtherSize(*range->total);
  }
  if (range->range == request_.range) return absl::OkStatus();
  if (range->total && *range->total < request_.range.end) return OtherSize(*range->total);
  return BadAnswer("the answer holds another range than the one asked for");
}

// A service may leave a range out of account that covers the whole object.
absl::Status GetExchange::CheckWhole(const HttpResponseHead& head) const {
  const std::optional<uint64_t> length = head.ContentLength();
  if (request_.range.begin != 0 || length != request_.range.size()) {
    return BadAnswer("the answer is the whole object, not the range");
  }
  if (request_.object_size && *request_.object_size != *length) return OtherSize(*length);
  return absl::OkStatus();
}

absl::Status GetExchange::Take(absl::Span<const char> data) {
  if (data.size() > request_.range.size() - taken_) return BadAnswer("the answer is longer than the range");
  taken_ += data.size();
  sink_->OnData(data);
  return absl::OkStatus();
}

void GetExchange::Finish(absl::Status status) {
  if (status.ok() && taken_ != request_.range.size())
    status = BadAnswer("the answer is shorter than the range");
  sink_->OnDone(std::move(status));
}

}  // namespace bucketvol
