#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "mounter/base/secret.h"

namespace bucketvol {

/// What signs requests. An empty access key id means anonymous: requests go out unsigned.
struct Credentials {
  std::string access_key_id;
  Secret access_key_secret;
  Secret session_token;  // Empty: a lasting key pair.

  bool anonymous() const { return access_key_id.empty(); }
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// Knows the credentials of the moment.
///
/// Thread-safe. Called once per request on threads of the object store: answers from memory, and goes to a
/// file or a service at most when that is due.
class CredentialProvider {
 public:
  virtual ~CredentialProvider() = default;
  /// The credentials to sign the next request with. An error's message tells the user what is missing, never
  /// a secret.
  virtual absl::StatusOr<Credentials> Get() = 0;
  /// The service refused `refused` (unknown, expired). Has the next Get look for newer ones, unless it
  /// already holds others.
  virtual void Reject(const Credentials& refused) = 0;
};

/// Credentials that never change.
class StaticCredentials final : public CredentialProvider {
 public:
  explicit StaticCredentials(Credentials credentials) : credentials_(std::move(credentials)) {}
  absl::StatusOr<Credentials> Get() override { return credentials_; }
  void Reject(const Credentials&) override {}

 private:
  const Credentials credentials_;
};

}  // namespace bucketvol
