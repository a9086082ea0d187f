#pragma once

#include <string>

#include "mounter/objstore/exchange.h"

namespace bucketvol {

/// One ranged GET. Nothing reaches the sink unless status, range, total, length and version are what was
/// asked for.
class GetExchange final : public Exchange {
 public:
  GetExchange(const ExchangeParts& parts, std::string what, GetRequest request, GetSink* sink);

 private:
  void NoteSent() override;
  absl::Status Accept(const HttpResponseHead& head) override;
  absl::Status Take(absl::Span<const char> data) override;
  void Finish(absl::Status status) override;

  absl::Status CheckPart(const HttpResponseHead& head) const;
  absl::Status CheckWhole(const HttpResponseHead& head) const;
  absl::Status Changed(absl::string_view how) const;
  absl::Status OtherSize(uint64_t size) const;

  const GetRequest request_;
  GetSink* const sink_;
  bool right_version_ = false;  // The answer's ETag is the one asked for.
  uint64_t taken_ = 0;
};

}  // namespace bucketvol
