#include "mounter/objstore/request_factory.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace bucketvol {

RequestFactory::RequestFactory(BucketSettings settings, const Clock& clock)
    : settings_(std::move(settings)),
      clock_(clock),
      target_{WithoutBucket(settings_.endpoint, settings_.bucket), settings_.region} {}

HttpRequest RequestFactory::Make(const Operation& operation, const Credentials& credentials,
                                 const std::optional<Target>& elsewhere) {
  const Target target = elsewhere ? *elsewhere : CurrentTarget();
  RequestAddress address = AddressOf(target.endpoint, settings_.bucket, operation.key, settings_.addressing);
  SignableRequest request;
  request.method = HttpMethodName(operation.method);
  request.bucket = settings_.bucket;
  request.key = operation.key;
  request.path = std::move(address.path);
  request.host = std::move(address.host);
  request.query = operation.query;
  request.headers = operation.headers;
  Sign(request, credentials, target);

  const std::string query = EncodeQuery(operation.query, EmptyValue::kBare);
  HttpRequest made;
  made.method = operation.method;
  made.url = absl::StrCat(target.endpoint.scheme, "://", request.host, request.path, query.empty() ? "" : "?",
                          query);
  made.headers = std::move(request.headers);
  return made;
}

void RequestFactory::Sign(SignableRequest& request, const Credentials& credentials, const Target& target) {
  absl::Time now = clock_.WallNow();
  {
    absl::MutexLock lock(&mu_);
    now += clock_offset_;
  }
  switch (settings_.signature) {
    case Signature::kOssV1:
      return SignOssV1(request, credentials, now);
    case Signature::kOssV4:
      return SignOssV4(request, credentials, {target.region, "oss"}, now, keys_);
    case Signature::kAwsV4:
      return SignAwsV4(request, credentials, {target.region, "s3"}, now, keys_);
  }
}

bool RequestFactory::LearnClock(const ServiceError& error) {
  if (error.code != "RequestTimeTooSkewed" || !error.date) return false;
  const absl::Duration offset = *error.date - clock_.WallNow();
  absl::MutexLock lock(&mu_);
  clock_offset_ = offset;
  return true;
}

std::optional<RequestFactory::Redirection> RequestFactory::RedirectionOf(const ServiceError& error) const {
  const bool moved = error.http_status == 301 || error.code == "PermanentRedirect";
  const bool moved_for_now = error.http_status == 307;
  const bool wrong_region =
      error.code == "AuthorizationHeaderMalformed" || (error.code.empty() && error.http_status == 400);
  const bool wrong_endpoint = error.code == "AccessDenied" && !error.endpoint.empty();
  if (!moved && !moved_for_now && !wrong_region && !wrong_endpoint) return std::nullopt;

  const Target current = CurrentTarget();
  Target target = current;
  if (!error.endpoint.empty()) {
    const absl::StatusOr<Endpoint> named =
        ParseEndpoint(absl::StrCat(current.endpoint.scheme, "://", error.endpoint));
    if (!named.ok()) return std::nullopt;
    target.endpoint = WithoutBucket(*named, settings_.bucket);
    if (const auto region = RegionOfHost(target.endpoint.host)) target.region = *region;
  }
  if (!error.region.empty()) {
    target.region = error.region;
    if (error.endpoint.empty() && moved) {
      const std::optional<std::string> host = HostInRegion(current.endpoint.host, error.region);
      if (host) target.endpoint.host = *host;
    }
  }
  if (target == current) return std::nullopt;
  return Redirection{std::move(target), !moved_for_now};
}

void RequestFactory::MoveTo(const Target& target) {
  absl::MutexLock lock(&mu_);
  target_ = target;
}

RequestFactory::Target RequestFactory::CurrentTarget() const {
  absl::MutexLock lock(&mu_);
  return target_;
}

}  // namespace bucketvol
