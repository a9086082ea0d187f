#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "mounter/base/byte_range.h"

namespace bucketvol {

/// Tells a request in flight to stop. Thread-safe. Shared by whoever may cancel and whoever carries the
/// request out.
class Cancellation {
 public:
  /// Ends the request: its callback still comes, once, with a Cancelled status (or with the result that was
  /// faster).
  void Cancel();
  bool cancelled() const;
  /// Has `action` run once, at once if already cancelled, by the thread that cancels. A later call replaces
  /// the action; an empty one removes it. When this returns, a replaced action is neither running nor will it
  /// run.
  void OnCancel(std::function<void()> action);
  /// Has `action` run once beside all others, at once if already cancelled. For stores: several requests may
  /// share one Cancellation. The id is for RemoveAction.
  uint64_t AddAction(std::function<void()> action);
  /// When this returns, the action is neither running nor will it run. An id that is gone is fine.
  void RemoveAction(uint64_t id);

 private:
  mutable absl::Mutex
      mu_;  // Held while actions run, so that removing one waits. An action must not call back here.
  bool cancelled_ ABSL_GUARDED_BY(mu_) = false;
  std::function<void()> action_ ABSL_GUARDED_BY(mu_);
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  std::vector<std::pair<uint64_t, std::function<void()>>> actions_ ABSL_GUARDED_BY(mu_);
};

/// Where the latest of several requests for the same has gone. They share it, so that each goes to another of
/// the service's addresses than the one before, where it can. Thread-safe.
class LastPlace {
 public:
  /// 0: nowhere yet, or not known.
  uint64_t address() const { return address_.load(std::memory_order_relaxed); }
  void Set(uint64_t address) { address_.store(address, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> address_{0};
};

/// What a listing says of one object. The views live as long as the ListPage that holds them.
struct ListedObject {
  absl::string_view key;  // Decoded bytes: any byte may occur.
  absl::string_view
      etag;  // As the service wrote it, without the quotes; letters keep their case. May be empty.
  uint64_t size = 0;
  int64_t modified_ms = 0;  // LastModified, Unix time in milliseconds (UTC).
  enum class Kind : uint8_t { kNormal, kSymlink } kind = Kind::kNormal;
  bool archived = false;  // The storage class must be restored before a GET works.
};

/// One page of a listing, in strictly increasing byte order of keys as the service sent it (callers check).
struct ListPage {
  std::vector<ListedObject> objects;
  std::vector<absl::string_view> common_prefixes;
  bool truncated = false;
  std::string
      next_token;  // For ListRequest::continuation_token (with V1 listings: the marker); empty at the end.
  std::unique_ptr<char[]> storage;  // What the views point into.
  uint64_t body_bytes = 0;          // Length of the answer it was read from.
};

struct ListRequest {
  std::string prefix;              // Decoded bytes.
  std::string start_after;         // Exclusive. Empty: from the beginning.
  std::string continuation_token;  // From the page before; excludes start_after.
  std::string delimiter;           // Empty or "/".
  int max_keys = 1000;             // 1…1000
  absl::Duration deadline =
      absl::InfiniteDuration();  // For one attempt, from its start; the store's own limit if infinite.
  std::shared_ptr<Cancellation> cancellation;       // May be null.
  std::shared_ptr<LastPlace> last_place = nullptr;  // RetryingStore's to set. May be null.
};

enum class GetPurpose : uint8_t {
  kDemand,    // A reader waits for the bytes, or will in a moment.
  kPrefetch,  // Nobody misses them yet.
};

/// The purpose of a GET under way, shared by whoever asked for it, who may change it at any time, and whoever
/// carries it out, who looks at it now and then. Thread-safe.
class SharedPurpose {
 public:
  explicit SharedPurpose(GetPurpose purpose) : purpose_(purpose) {}
  void Set(GetPurpose purpose) { purpose_.store(purpose, std::memory_order_relaxed); }
  GetPurpose Get() const { return purpose_.load(std::memory_order_relaxed); }

 private:
  std::atomic<GetPurpose> purpose_;
};

struct GetRequest {
  std::string key;
  ByteRange range;                             // Never empty.
  std::string if_match;                        // The indexed ETag without quotes; empty: any version.
  std::optional<uint64_t> object_size;         // What Content-Range must give as the total.
  std::shared_ptr<Cancellation> cancellation;  // May be null.
  std::shared_ptr<const SharedPurpose> purpose = nullptr;  // Null: demand.
  bool second = false;  // Goes out beside a slow one for the same bytes. HedgedStore's word; only counted.
  std::shared_ptr<LastPlace> last_place = nullptr;  // RetryingStore's to set. May be null.

  /// What the bytes are wanted for at this moment.
  GetPurpose CurrentPurpose() const { return purpose ? purpose->Get() : GetPurpose::kDemand; }
};

/// Receives the body of one GET. Called by one thread at a time, never after OnDone.
class GetSink {
 public:
  virtual ~GetSink() = default;
  /// The version that the following bytes belong to, without quotes; before the first byte, again after each
  /// retry below.
  virtual void OnVersion(absl::string_view /*etag*/) {}
  /// The CRC-64 (see base/crc.h) of the whole object in that version, whatever the range, if the service told
  /// it. Between OnVersion and the first byte.
  virtual void OnObjectCrc64(uint64_t /*crc*/) {}
  /// The next bytes of the range, in order and without gaps, whatever retries went on below. Must not block.
  virtual void OnData(absl::Span<const char> data) = 0;
  /// The end: OK exactly when all bytes of the range were given to OnData. Called once. Must not block for
  /// long.
  virtual void OnDone(absl::Status status) = 0;
};

struct ObjectInfo {
  std::string etag;
  uint64_t size = 0;
  int64_t modified_ms = 0;
};

using ListCallback = absl::AnyInvocable<void(absl::StatusOr<ListPage>) &&>;
using HeadCallback = absl::AnyInvocable<void(absl::StatusOr<ObjectInfo>) &&>;

/// A bucket of a service that stores objects.
///
/// Thread-safe. Calls return at once; the answer comes exactly once, on a thread of the store, never inside
/// the call. Sinks and callbacks must not block that thread. The store outlives every request: its destructor
/// cancels what is in flight and waits for the callbacks.
///
/// Errors (docs/errors.md has the whole table; StoreErrorOf gives the service's own words):
///   NotFound            no such key or bucket
///   FailedPrecondition  the object is not the version asked for (412, other ETag, other size, 416)
///   Unauthenticated     the credentials are wrong, expired or missing
///   PermissionDenied    the credentials are good but not for this
///   ResourceExhausted   throttled (retryable)
///   Unavailable         connection, TLS set-up, 5xx, DNS (retryable unless the store says otherwise)
///   DeadlineExceeded    no progress within the limits (retryable)
///   DataLoss            a body that is not what its headers promise (retryable)
///   InvalidArgument     the request makes no sense to the service
///   Cancelled           by its Cancellation
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  virtual void List(ListRequest request, ListCallback done) = 0;
  /// `sink` stays alive until its OnDone has returned.
  virtual void Get(GetRequest request, GetSink* sink) = 0;
  virtual void Head(std::string key, HeadCallback done) = 0;
};

}  // namespace bucketvol
