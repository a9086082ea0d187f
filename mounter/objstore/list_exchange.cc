#include "mounter/objstore/list_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/objstore/store_error.h"

namespace bucketvol {
namespace {

// A page of 1,000 keys of 1,024 bytes, each byte written as "%XX", with all else is below 5 MB.
constexpr size_t kLargestPage = 16 << 20;
// For answers that do not tell their length.
constexpr size_t kFirstCapacity = 256 * 1024;

void AddIfPresent(QueryParameters& query, const char* name, std::string value) {
  if (!value.empty()) query.emplace_back(name, std::move(value));
}

Operation ListOperation(ListVersion version, const ListRequest& request) {
  Operation operation;
  QueryParameters& query = operation.query;
  query.emplace_back("encoding-type", "url");
  query.emplace_back("max-keys", absl::StrCat(request.max_keys));
  AddIfPresent(query, "prefix", request.prefix);
  AddIfPresent(query, "delimiter", request.delimiter);
  switch (version) {
    case ListVersion::kV1:
      AddIfPresent(query, "marker",
                   request.continuation_token.empty() ? request.start_after : request.continuation_token);
      break;
    case ListVersion::kV2:
      query.emplace_back("list-type", "2");
      AddIfPresent(query, "continuation-token", request.continuation_token);
      if (request.continuation_token.empty()) AddIfPresent(query, "start-after", request.start_after);
      break;
  }
  return operation;
}

absl::Status WebPage(absl::string_view what) {
  StoreError error;
  error.http_status = 200;
  error.message = "the endpoint answered with an HTML page, is url= right?";
  return MakeStoreStatus(absl::StatusCode::kInvalidArgument, what, error);
}

}  // namespace

ListExchange::ListExchange(const ExchangeParts& parts, std::string what, const ListRequest& request,
                           ListCallback done)
    : Exchange(parts, StoreOperation::kList, ListOperation(parts.factory.settings().list_version, request),
               std::move(what), request.deadline, request.cancellation, request.last_place),
      done_(std::move(done)) {}

absl::Status ListExchange::Accept(const HttpResponseHead& head) {
  const std::optional<uint64_t> length = head.ContentLength();
  if (length.value_or(0) > kLargestPage) return BadAnswer("the listing is larger than any page can be");
  document_ = {};
  capacity_ = 0;
  Grow(length.value_or(kFirstCapacity));
  return absl::OkStatus();
}

void ListExchange::Grow(size_t capacity) {
  auto larger = std::make_unique_for_overwrite<char[]>(capacity + 1);
  if (document_.size > 0) std::memcpy(larger.get(), document_.text.get(), document_.size);
  document_.text = std::move(larger);
  capacity_ = capacity;
}

absl::Status ListExchange::Take(absl::Span<const char> data) {
  const size_t needed = document_.size + data.size();
  if (needed > kLargestPage) return BadAnswer("the listing is larger than any page can be");
  if (needed > capacity_) Grow(std::max(needed, 2 * capacity_));
  std::memcpy(document_.text.get() + document_.size, data.data(), data.size());
  document_.size = needed;
  return absl::OkStatus();
}

absl::StatusOr<ListPage> ListExchange::Page() {
  const absl::string_view body(document_.text.get(), document_.size);
  if (IsHtml(body)) return WebPage(what());
  absl::StatusOr<ListPage> page = ParseListPage(std::move(document_), settings().dialect);
  if (!page.ok()) return BadAnswer(page.status().message());
  // Version 1 names the next marker only when there is a delimiter.
  if (settings().list_version == ListVersion::kV1 && page->truncated && page->next_token.empty() &&
      !page->objects.empty()) {
    page->next_token = std::string(page->objects.back().key);
  }
  return page;
}

void ListExchange::Finish(absl::Status status) {
  if (!status.ok()) {
    std::move(done_)(std::move(status));
  } else {
    std::move(done_)(Page());
  }
}

}  // namespace bucketvol
