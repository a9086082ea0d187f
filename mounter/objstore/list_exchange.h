#pragma once

#include <memory>
#include <string>

#include "mounter/objstore/exchange.h"
#include "mounter/objstore/list_page_parser.h"

namespace bucketvol {

/// One page of a listing. The body is collected once, in the buffer that becomes the page's storage.
class ListExchange final : public Exchange {
 public:
  ListExchange(const ExchangeParts& parts, std::string what, const ListRequest& request, ListCallback done);

 private:
  absl::Status Accept(const HttpResponseHead& head) override;
  absl::Status Take(absl::Span<const char> data) override;
  void Finish(absl::Status status) override;

  void Grow(size_t capacity);
  absl::StatusOr<ListPage> Page();

  ListCallback done_;
  ListDocument document_;
  size_t capacity_ = 0;
};

}  // namespace bucketvol
