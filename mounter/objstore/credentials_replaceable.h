#pragma once

#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mounter/objstore/credential_provider.h"

namespace bucketvol {

/// Credentials whose source can be replaced while requests go on: those that are being signed finish with the
/// old ones, the next ones take the new.
class ReplaceableCredentials final : public CredentialProvider {
 public:
  explicit ReplaceableCredentials(std::shared_ptr<CredentialProvider> first) : current_(std::move(first)) {}

  void Replace(std::shared_ptr<CredentialProvider> next) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    current_.swap(next);
  }
  absl::StatusOr<Credentials> Get() override { return Current()->Get(); }
  void Reject(const Credentials& refused) override { Current()->Reject(refused); }

 private:
  std::shared_ptr<CredentialProvider> Current() ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    return current_;
  }

  absl::Mutex mu_;  // Leaf.
  std::shared_ptr<CredentialProvider> current_ ABSL_GUARDED_BY(mu_);
};

}  // namespace bucketvol
