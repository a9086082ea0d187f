#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "mounter/base/clock.h"
#include "mounter/objstore/credential_provider.h"
#include "mounter/objstore/dialect.h"
#include "mounter/objstore/endpoint.h"
#include "mounter/objstore/http_transport.h"
#include "mounter/objstore/service_error.h"
#include "mounter/objstore/signer.h"
#include "mounter/objstore/uri_encoding.h"

namespace bucketvol {

enum class Signature { kOssV1, kOssV4, kAwsV4 };
enum class ListVersion { kV1, kV2 };

/// Which bucket, and how requests to it are made.
struct BucketSettings {
  Dialect dialect = Dialect::kOss;
  Signature signature = Signature::kOssV4;
  Addressing addressing = Addressing::kAuto;
  Endpoint endpoint;
  std::string region;
  std::string bucket;
  ListVersion list_version = ListVersion::kV2;
};

/// One call of the service's API, not yet addressed and signed.
struct Operation {
  HttpMethod method = HttpMethod::kGet;
  std::string key;  // Empty: the bucket.
  QueryParameters query;
  std::vector<HttpHeader> headers;
};

/// Makes signed requests to one bucket, and learns from refusals: the clock's offset, the bucket's region and
/// endpoint.
///
/// Thread-safe. A request is for sending at once: its signature is of the moment.
class RequestFactory {
 public:
  /// `clock` outlives the factory.
  RequestFactory(BucketSettings settings, const Clock& clock);

  /// Where requests go.
  struct Target {
    Endpoint endpoint;
    std::string region;
    friend bool operator==(const Target&, const Target&) = default;
  };

  /// Makes the request; `elsewhere` replaces the bucket's own target for this one.
  HttpRequest Make(const Operation& operation, const Credentials& credentials,
                   const std::optional<Target>& elsewhere);

  /// Takes the clock's offset from an answer that says the request's time is wrong. False if there is nothing
  /// to learn.
  bool LearnClock(const ServiceError& error);

  /// What a refusal says of the right place.
  struct Redirection {
    Target target;
    bool lasting = true;  // Else for the one request.
  };
  /// Reads the right place from a refusal; nullopt when it names none, or one that is no other.
  std::optional<Redirection> RedirectionOf(const ServiceError& error) const;
  /// Has all requests from now on go to `target`.
  void MoveTo(const Target& target);

  const BucketSettings& settings() const { return settings_; }

 private:
  Target CurrentTarget() const;
  void Sign(SignableRequest& request, const Credentials& credentials, const Target& target);

  const BucketSettings settings_;
  const Clock& clock_;
  SigningKeyCache keys_;

  mutable absl::Mutex mu_;  // Leaf.
  Target target_ ABSL_GUARDED_BY(mu_);
  absl::Duration clock_offset_ ABSL_GUARDED_BY(mu_);  // The service's clock less ours.
};

}  // namespace bucketvol
