#include "mounter/objstore/store_error.h"

#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mounter/base/coding.h"
#include "mounter/base/log.h"

namespace bucketvol {
namespace {

constexpr char kPayloadType[] = "bucketvol.StoreError";

void AppendText(std::string& out, absl::string_view text) {
  AppendVarint(out, text.size());
  out.append(text.data(), text.size());
}

bool ConsumeText(absl::string_view& in, std::string& text) {
  const std::optional<uint64_t> size = ConsumeVarint(in);
  if (!size || *size > in.size()) return false;
  text.assign(in.data(), *size);
  in.remove_prefix(*size);
  return true;
}

std::string Encode(const StoreError& error) {
  std::string out;
  AppendVarint(out, static_cast<uint64_t>(error.http_status));
  AppendVarint(out, (error.retryable ? 1u : 0u) | (error.throttled ? 2u : 0u));
  AppendVarint(out, static_cast<uint64_t>(error.congestion));
  for (const std::string* text : {&error.code, &error.message, &error.request_id}) AppendText(out, *text);
  return out;
}

std::optional<StoreError> Decode(absl::string_view in) {
  StoreError error;
  const std::optional<uint64_t> http_status = ConsumeVarint(in);
  if (!http_status) return std::nullopt;
  const std::optional<uint64_t> flags = ConsumeVarint(in);
  if (!flags) return std::nullopt;
  const std::optional<uint64_t> congestion = ConsumeVarint(in);
  if (!congestion || *congestion >= kCongestions) return std::nullopt;
  for (std::string* text : {&error.code, &error.message, &error.request_id}) {
    if (!ConsumeText(in, *text)) return std::nullopt;
  }
  error.http_status = static_cast<int>(*http_status);
  error.retryable = (*flags & 1) != 0;
  error.throttled = (*flags & 2) != 0;
  error.congestion = static_cast<Congestion>(*congestion);
  return error;
}

// "(AccessDenied, HTTP 403, request id 5C3D)", of what is known; empty when nothing is.
std::string Origin(const StoreError& error) {
  std::vector<std::string> parts;
  if (!error.code.empty()) parts.push_back(Printable(error.code, 64));
  if (error.http_status != 0) parts.push_back(absl::StrCat("HTTP ", error.http_status));
  if (!error.request_id.empty())
    parts.push_back(absl::StrCat("request id ", Printable(error.request_id, 64)));
  return parts.empty() ? "" : absl::StrCat(" (", absl::StrJoin(parts, ", "), ")");
}

}  // namespace

absl::Status MakeStoreStatus(absl::StatusCode code, absl::string_view context, const StoreError& error) {
  const std::string message =
      error.message.empty() ? "the service gave no reason" : Printable(error.message, 512);
  absl::Status status(code, absl::StrCat(context, ": ", message, Origin(error)));
  status.SetPayload(kPayloadType, absl::Cord(Encode(error)));
  return status;
}

std::optional<StoreError> StoreErrorOf(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kPayloadType);
  if (!payload) return std::nullopt;
  return Decode(std::string(*payload));
}

bool IsRetryable(const absl::Status& status) {
  if (const std::optional<StoreError> error = StoreErrorOf(status)) return error->retryable;
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

}  // namespace bucketvol
