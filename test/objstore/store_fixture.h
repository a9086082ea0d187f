#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
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
    std::optional<absl::StatusOr<ListPage>> result;
    absl::Notification done;
    store_->List(std::move(request), [&](absl::StatusOr<ListPage> page) {
      result = std::move(page);
      done.Notify();
    });
    done.WaitForNotification();
    return *std::move(result);
  }

  absl::StatusOr<ObjectInfo> Head(std::string key) {
    std::optional<absl::StatusOr<ObjectInfo>> result;
    absl::Notification done;
    store_->Head(std::move(key), [&](absl::StatusOr<ObjectInfo> info) {
      result = std::move(info);
      done.Notify();
    });
    done.WaitForNotification();
    return *std::move(result);
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
