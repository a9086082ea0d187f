#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "mounter/base/clock.h"
#include "mounter/base/executor.h"
#include "mounter/base/unique_fd.h"
#include "mounter/cache/node_share.h"
#include "mounter/cli/credential_change.h"
#include "mounter/cli/index_job.h"
#include "mounter/cli/index_store.h"
#include "mounter/cli/memory_plan.h"
#include "mounter/cli/order_keeper.h"
#include "mounter/cli/served_index.h"
#include "mounter/guard/channel.h"
#include "mounter/objstore/store_factory.h"
#include "mounter/options/volume_spec.h"
#include "mounter/reader/reader.h"
#include "mounter/session/fuse_session.h"
#include "mounter/telemetry/read_metrics.h"
#include "mounter/telemetry/status_document.h"

namespace bucketvol {

/// The worker of an image volume. The first one of a mount finds or builds the index and tells the guard;
/// each later one opens the index that is mounted. It serves the data devices from the guard's word until the
/// kernel ends the connection, the guard goes away or wants it to stop, or something fails.
///
/// Two threads of its own: Run's caller does the work, a second one listens to the guard. The end of the
/// guard's socket cancels whatever goes on.
class Worker {
 public:
  Worker(Channel guard, const Clock& clock);
  ~Worker();

  /// The exit code of the process. A failure was reported to the guard and logged.
  int Run();

 private:
  /// The guard's word to take requests.
  struct ServeOrder {
    ServeBody body;
    UniqueFd fuse;
  };

  absl::Status Work();
  absl::Status Prepare(const VolumeSpec& spec, Message start, RequestSlots& slots);
  void ShareMemory(Message& start);
  /// Serves once the guard says so.
  absl::Status Serve(BucketStore& store, const ServedIndex& index, WorkerRole role, RequestSlots& slots);
  OrderKeeper::Settings OrdersOf(const ServedIndex& index, WorkerRole role) const;
  absl::StatusOr<ServeOrder> AwaitOrder() ABSL_LOCKS_EXCLUDED(mu_);
  bool HasOrderOrEnded() const ABSL_SHARED_LOCKS_REQUIRED(mu_) { return ended_ || order_.has_value(); }

  // Of a first worker.
  absl::StatusOr<ServedIndex> FirstIndex(const VolumeSpec& spec, ObjectStore& store);
  absl::StatusOr<IndexManifest> ProvideIndex(ObjectStore& store, const IndexLease& lease, absl::Time claimed);
  absl::StatusOr<IndexManifest> Build(ObjectStore& store, const IndexLease& lease);
  absl::Status AnnounceImage(const ServedIndex& index);
  void KeepIndex(const IndexLease& lease);
  void WarnOf(const IndexManifest& manifest);
  void TellWaiting(uint64_t keys) const;

  // The listening thread.
  void Listen();
  /// Waits for the guard's word, WakeListener, or the time of the next progress. False: it is over.
  bool AwaitEvent() ABSL_LOCKS_EXCLUDED(mu_);
  void WakeListener();
  void OnMessage(Message message);
  void ChangeCredentials(const std::string& bytes) ABSL_LOCKS_EXCLUDED(mu_);
  void TellProgress();
  std::string Status() ABSL_LOCKS_EXCLUDED(mu_);
  void Tell(MessageType type) const;

  const Channel guard_;  // One thread receives; sends are whole packets.
  const Clock& clock_;
  const std::shared_ptr<Cancellation> cancellation_;
  const UniqueFd wake_;                      // An eventfd.
  VolumeOptions options_;                    // Constant once the listening thread runs,
  Secret proxy_credentials_;                 // and this,
  MemoryPlan memory_;                        // and this.
  std::unique_ptr<NodeLedger> node_ledger_;  // and this. Null: an older guard.
  std::unique_ptr<NodeShare> node_share_;    // With node_ledger_.
  CredentialChange credential_change_;       // Of the listening thread, until that has ended.
  ReadMetrics reads_;

  // What the listening thread looks at while Run's thread makes and ends it.
  absl::Mutex mu_;  // Leaf.
  BucketStore* store_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::shared_ptr<StoreStack> stack_ ABSL_GUARDED_BY(mu_);  // Of store_.
  const IndexJob* job_ ABSL_GUARDED_BY(mu_) = nullptr;
  const IndexLease* building_ ABSL_GUARDED_BY(mu_) = nullptr;  // With job_.
  absl::Duration job_start_ ABSL_GUARDED_BY(mu_);
  uint64_t expected_keys_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<IndexManifest> manifest_ ABSL_GUARDED_BY(mu_);
  const Reader* reader_ ABSL_GUARDED_BY(mu_) = nullptr;
  FuseSession* session_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::optional<ServeOrder> order_ ABSL_GUARDED_BY(mu_);
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // The guard is gone.
};

}  // namespace bucketvol
