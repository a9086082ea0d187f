#pragma once

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol::testing {

/// Keeps what one GET gives. Thread-safe.
class RecordingSink final : public GetSink {
 public:
  void OnVersion(absl::string_view etag) override {
    absl::MutexLock lock(&mu_);
    version_ = std::string(etag);
  }
  void OnObjectCrc64(uint64_t crc) override {
    absl::MutexLock lock(&mu_);
    object_crc64_ = crc;
  }
  void OnData(absl::Span<const char> data) override {
    absl::MutexLock lock(&mu_);
    data_.append(data.data(), data.size());
  }
  void OnDone(absl::Status status) override {
    absl::MutexLock lock(&mu_);
    ++ends_;
    status_ = std::move(status);
  }

  /// Blocks until the end.
  absl::Status Await() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](int* ends) { return *ends > 0; }, &ends_));
    return *status_;
  }
  /// Blocks until at least one byte came.
  void AwaitData() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](std::string* data) { return !data->empty(); }, &data_));
  }
  bool done() const {
    absl::MutexLock lock(&mu_);
    return ends_ > 0;
  }
  int ends() const {
    absl::MutexLock lock(&mu_);
    return ends_;
  }
  absl::Status status() const {
    absl::MutexLock lock(&mu_);
    return status_.value_or(absl::UnknownError("not done"));
  }
  std::string data() const {
    absl::MutexLock lock(&mu_);
    return data_;
  }
  std::string version() const {
    absl::MutexLock lock(&mu_);
    return version_;
  }
  std::optional<uint64_t> object_crc64() const {
    absl::MutexLock lock(&mu_);
    return object_crc64_;
  }

 private:
  mutable absl::Mutex mu_;
  std::string version_ ABSL_GUARDED_BY(mu_);
  std::optional<uint64_t> object_crc64_ ABSL_GUARDED_BY(mu_);
  std::string data_ ABSL_GUARDED_BY(mu_);
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mu_);
  int ends_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace bucketvol::testing
