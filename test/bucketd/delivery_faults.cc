#include "test/bucketd/delivery_faults.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace bucketvol::bucketd {
namespace {

// Replaces the value of a header line that is there.
void ReplaceHeader(Reply& reply, absl::string_view name, absl::string_view value) {
  const std::string start = absl::StrCat(name, ": ");
  const size_t at = reply.headers.find(start);
  if (at == std::string::npos) return;
  const size_t from = at + start.size();
  reply.headers.replace(from, reply.headers.find("\r\n", from) - from, std::string(value));
}

void HalveBody(Reply& reply) {
  if (reply.source != nullptr) {
    reply.source_size -= reply.source_size / 2;
  } else {
    reply.body.resize(reply.body.size() / 2);
  }
  if (reply.content_length.has_value()) *reply.content_length /= 2;
}

void LieAboutTotal(Reply& reply) {
  const size_t slash = reply.headers.find('/', reply.headers.find("Content-Range: "));
  if (slash != std::string::npos) reply.headers.insert(slash + 1, "1");
}

// Whole bodies can only lie by their length; ranges lie by length and by total in turn.
void LieAboutLength(const Fault& fault, Reply& reply) {
  if (reply.status == 206 && fault.occurrence % 2 == 1) return LieAboutTotal(reply);
  HalveBody(reply);
}

void ReplaceByHtml(Reply& reply) {
  reply.headers = "Content-Type: text/html\r\n";
  reply.source = nullptr;
  reply.source_size = 0;
  reply.preamble.clear();
  reply.status = 200;
  reply.body =
      "<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in to the "
      "network.</body></html>";
}

}  // namespace

std::optional<ErrorKind> ErrorOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kUnavailable:
      return ErrorKind::kSlowDown;
    case FaultKind::kInternalError:
      return ErrorKind::kInternal;
    case FaultKind::kDenied:
      return ErrorKind::kAccessDenied;
    case FaultKind::kBandwidth:
      return ErrorKind::kTrafficLimit;
    case FaultKind::kTooManyOpen:
      return ErrorKind::kActiveRequestLimit;
    case FaultKind::kExpiredToken:
      return ErrorKind::kExpiredToken;
    case FaultKind::kSkewed:
      return ErrorKind::kClockSkew;
    case FaultKind::kTooMany:
      return ErrorKind::kTooManyRequests;
    case FaultKind::kNone:
    case FaultKind::kHtml:
    case FaultKind::kReset:
    case FaultKind::kTruncate:
    case FaultKind::kStall:
    case FaultKind::kSlow:
    case FaultKind::kWrongBytes:
    case FaultKind::kWrongEtag:
    case FaultKind::kWrongLength:
    case FaultKind::kEmptyTruncated:
    case FaultKind::kRepeatPage:
    case FaultKind::kOutOfOrder:
    case FaultKind::kBadXml:
    case FaultKind::kCutXml:
      break;
  }
  return std::nullopt;
}

ListDamage DamageOf(FaultKind kind) {
  if (kind == FaultKind::kEmptyTruncated) return ListDamage::kEmptyTruncated;
  if (kind == FaultKind::kRepeatPage) return ListDamage::kRepeatPage;
  if (kind == FaultKind::kOutOfOrder) return ListDamage::kOutOfOrder;
  if (kind == FaultKind::kBadXml) return ListDamage::kBadXml;
  return kind == FaultKind::kCutXml ? ListDamage::kCutXml : ListDamage::kNone;
}

void ApplyFault(const Fault& fault, const ApiRequest& request, Reply& reply) {
  Delivery& delivery = reply.delivery;
  if (fault.kind == FaultKind::kReset) {
    delivery.event = Delivery::Event::kReset;
  } else if (fault.kind == FaultKind::kTruncate) {
    delivery.event = Delivery::Event::kClose;
  } else if (fault.kind == FaultKind::kStall) {
    delivery.event = Delivery::Event::kStall;
    delivery.stall = fault.stall;
  } else if (fault.kind == FaultKind::kSlow) {
    delivery.rate = fault.rate;
  } else if (fault.kind == FaultKind::kWrongBytes) {
    delivery.corrupt = true;
  } else if (fault.kind == FaultKind::kWrongEtag) {
    const bool oss = request.dialect == Dialect::kOss;
    ReplaceHeader(reply, "ETag",
                  oss ? "\"BADBADBADBADBADBADBADBADBADBADBA\"" : "\"badbadbadbadbadbadbadbadbadbadba\"");
  } else if (fault.kind == FaultKind::kWrongLength) {
    LieAboutLength(fault, reply);
  } else if (fault.kind == FaultKind::kHtml) {
    ReplaceByHtml(reply);
  }
}

}  // namespace bucketvol::bucketd
