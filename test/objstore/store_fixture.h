#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "mounter/objstore/store_factory.h"
#include "test/objstore/recording_sink.h"

namespace bucketvol::testing {

inline Credentials TestKeys() { return {"test-key", Secret("test-secret"), Secret()}; }

/// Settings for a bucket "b" at `url` that give up soon.
inline StoreSettings SettingsFor(const std::string& url) {
  StoreSettings settings;
  settings.url = url;
  settings.bucket = "b";
  settings.region = "cn-hangzhou";
  settings.transport.proxy.proxy = "none";
  settings.retry.first_delay = absl::Milliseconds(1);
  settings.retry.first_throttled_delay = absl::Milliseconds(1);
  return settings;
}

/// Settings that never retry.
inline StoreSettings OneAttempt(StoreSettings settings) {
  settings.retry.max_attempts = 1;
  return settings;
}

/// Hands one value from thread to thread.
template <typename T>
class Mailbox {
 public:
  void Put(T value) {
    absl::MutexLock lock(&mu_);
    value_ = std::move(value);
  }
  T Take() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](std::optional<T>* value) { return value->has_value(); }, &value_));
    return *std::move(value_);
  }

 private:
  absl::Mutex mu_;
  std::optional<T> value_ ABSL_GUARDED_BY(mu_);
};

/// A store of a test, with calls that block.
class BlockingStore {
 public:
  explicit BlockingStore(const StoreSettings& settings, Credentials credentials = TestKeys())
      : credentials_(std::move(credentials)) {
    absl::StatusOr<std::unique_ptr<BucketStore>> store =
        MakeObjectStore(settings, credentials_, Clock::Real());
    EXPECT_TRUE(store.ok()) << store.status();
    if (store.ok()) store_ = *std::move(store);
  }

  absl::StatusOr<ListPage> List(ListRequest request = {}) {
    Mailbox<absl::StatusOr<ListPage>> mailbox;
    store_->List(std::move(request), [&](absl::StatusOr<ListPage> page) { mailbox.Put(std::move(page)); });
    return mailbox.Take();
  }

  absl::StatusOr<ObjectInfo> Head(std::string key) {
    Mailbox<absl::StatusOr<ObjectInfo>> mailbox;
    store_->Head(std::move(key), [&](absl::StatusOr<ObjectInfo> info) { mailbox.Put(std::move(info)); });
    return mailbox.Take();
  }

  /// The bytes of a range, or the error. What came before an error is checked by nobody here.
  absl::StatusOr<std::string> Get(const std::string& key, ByteRange range, std::string if_match = "",
                                  std::optional<uint64_t> object_size = std::nullopt) {
    RecordingSink sink;
    GetRequest request;
    request.key = key;
    request.range = range;
    request.if_match = std::move(if_match);
    request.object_size = object_size;
    store_->Get(std::move(request), &sink);
    const absl::Status status = sink.Await();
    if (!status.ok()) return status;
    return sink.data();
  }

  BucketStore& operator*() { return *store_; }
  BucketStore* operator->() { return store_.get(); }
  void Destroy() { store_.reset(); }

 private:
  StaticCredentials credentials_;
  std::unique_ptr<BucketStore> store_;
};

}  // namespace bucketvol::testing
