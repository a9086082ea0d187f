#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "mounter/base/executor.h"
#include "mounter/objstore/object_store.h"
#include "test/support/fake_listing.h"

namespace bucketvol::testing {

/// One request that reached the store, for assertions.
struct FakeRequest {
  enum class Op { kList, kGet, kHead } op;
  ListRequest list;  // kList
  GetRequest get;    // kGet
  std::string key;   // kGet and kHead
};

/// An object store in memory: answers as the contract of ObjectStore says, on the executor, after a latency
/// of the test's choosing. With VirtualTime as the executor every run is deterministic. Thread-safe.
///
/// Hooks (latency, faults, observer) are called without a lock by the executor's threads; set them before the
/// first request.
class FakeObjectStore final : public ObjectStore {
 public:
  /// Borrows the executor, which must outlive the store.
  explicit FakeObjectStore(Executor& executor);
  /// Ends what is in flight with Cancelled, held requests too, and waits for callbacks that are running.
  ~FakeObjectStore() override;

  // Content. Changes are seen by answers made after them.

  /// Stores an object whose bytes are `data`. The ETag is made from the content unless one is given.
  void Put(const std::string& key, std::string data, std::string etag = "");
  /// Stores an object whose bytes come from the content function.
  void Put(const std::string& key, FakeObject object);
  void Delete(const std::string& key);
  /// Makes the keys of `keys` appear besides those that were put, with FakeMetadata.
  void SetSequence(std::shared_ptr<const KeySequence> keys);
  /// Gives the bytes of objects that were put without data, or come from a sequence. By default FakeContent.
  using Content = std::function<void(absl::string_view key, uint64_t offset, absl::Span<char> out)>;
  void SetContent(Content content);

  // Behaviour.

  /// How long the answer to a request takes. Zero by default.
  void SetLatency(std::function<absl::Duration(const FakeRequest&)> latency);
  /// Called when an answer is about to be made, before the content is looked at: a place to change the
  /// content.
  void SetObserver(std::function<void(const FakeRequest&)> observer);
  /// May change a page before it is sent, or give an error to send instead.
  void SetListFault(std::function<absl::Status(const ListRequest&, ListPage&)> fault);
  /// May end a GET with an error after some of its bytes.
  struct GetFault {
    absl::Status status;
    uint64_t after_bytes = 0;
  };
  void SetGetFault(std::function<std::optional<GetFault>(const GetRequest&)> fault);
  /// The service's own limit to a page, whatever a request asks for.
  void SetMaxPageKeys(int keys);

  // Gate.

  /// From now on requests wait at the gate: they are logged, and answered only after Release().
  void Hold();
  void Release();
  /// Blocks until `count` requests wait at the gate.
  void AwaitHeld(size_t count);

  // What happened.

  std::vector<FakeRequest> Requests() const;
  size_t Count(FakeRequest::Op op) const;
  size_t in_flight() const;
  size_t peak_in_flight() const;
  /// Keep only counts, not whole requests: for very many requests.
  void ForgetRequests();

  // ObjectStore.

  void List(ListRequest request, ListCallback done) override;
  void Get(GetRequest request, GetSink* sink) override;
  void Head(std::string key, HeadCallback done) override;

 private:
  struct Pending;

  void Begin(std::shared_ptr<Pending> pending);
  void Schedule(const std::shared_ptr<Pending>& pending);
  void Finish(const std::shared_ptr<Pending>& pending, const absl::Status& failure);
  void Answer(Pending& pending, const absl::Status& failure);
  void AnswerGet(Pending& pending);
  absl::StatusOr<ListPage> MakePage(const ListRequest& request) const;
  absl::StatusOr<FakeEntry> Find(const std::string& key) const;
  absl::Status CheckGet(const GetRequest& request, const FakeObject& object) const;
  void Read(const std::string& key, const FakeEntry& entry, uint64_t offset, absl::Span<char> out) const;

  Executor& executor_;
  std::function<absl::Duration(const FakeRequest&)> latency_;
  std::function<void(const FakeRequest&)> observer_;
  std::function<absl::Status(const ListRequest&, ListPage&)> list_fault_;
  std::function<std::optional<GetFault>(const GetRequest&)> get_fault_;
  Content content_;
  int max_page_keys_ = 1000;

  mutable absl::Mutex mu_;  // Leaf: no callback or hook runs under it.
  FakeObjects objects_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<const KeySequence> sequence_ ABSL_GUARDED_BY(mu_);
  bool holding_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<std::shared_ptr<Pending>> held_ ABSL_GUARDED_BY(mu_);
  std::map<uint64_t, std::shared_ptr<Pending>> pending_ ABSL_GUARDED_BY(mu_);
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 0;
  bool keep_requests_ ABSL_GUARDED_BY(mu_) = true;
  std::vector<FakeRequest> requests_ ABSL_GUARDED_BY(mu_);
  size_t counts_[3] ABSL_GUARDED_BY(mu_) = {};
  size_t peak_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace bucketvol::testing
