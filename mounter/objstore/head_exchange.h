#pragma once

#include <string>

#include "mounter/objstore/exchange.h"

namespace bucketvol {

/// One HEAD of an object.
class HeadExchange final : public Exchange {
 public:
  HeadExchange(const ExchangeParts& parts, std::string what, std::string key, HeadCallback done);

 private:
  absl::Status Accept(const HttpResponseHead& head) override;
  absl::Status Take(absl::Span<const char> data) override;
  void Finish(absl::Status status) override;

  HeadCallback done_;
  ObjectInfo info_;
};

}  // namespace bucketvol
