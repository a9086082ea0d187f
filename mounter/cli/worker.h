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
#include "mounter/cli/index_job.h"
#include "mounter/cli/index_store.h"
#include "mounter/guard/channel.h"
#include "mounter/objstore/store_factory.h"
#include "mounter/options/volume_spec.h"
#include "mounter/reader/reader.h"
#include "mounter/session/fuse_session.h"
#include "mounter/telemetry/read_metrics.h"
#include "mounter/telemetry/status_document.h"

namespace bucketvol {

/// The worker of an image volume: finds or builds the index, tells the guard, and serves the data devices
/// until the kernel ends the connection, the guard goes away, or something fails.
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
  absl::Status Work();
  absl::Status Serve(const VolumeSpec& spec, UniqueFd fuse);
  absl::StatusOr<IndexManifest> ProvideIndex(ObjectStore& store, const IndexLease& lease, absl::Time claimed);
  absl::StatusOr<IndexManifest> Build(ObjectStore& store, const IndexLease& lease);
  absl::Status AnnounceImage(const IndexManifest& manifest, const std::string& directory);
  void WarnOf(const IndexManifest& manifest);
  void TellWaiting(uint64_t keys) const;

  // The listening thread.
  void Listen();
  /// Waits for the guard's word, WakeListener, or the time of the next progress. False: it is over.
  bool AwaitEvent() ABSL_LOCKS_EXCLUDED(mu_);
  void WakeListener();
  void OnMessage(const Message& message);
  void TellProgress();
  std::string Status() ABSL_LOCKS_EXCLUDED(mu_);

  const Channel guard_;  // One thread receives; sends are whole packets.
  const Clock& clock_;
  const std::shared_ptr<Cancellation> cancellation_;
  const UniqueFd wake_;    // An eventfd.
  VolumeOptions options_;  // Constant once the listening thread runs.
  ReadMetrics reads_;

  // What the listening thread looks at while Run's thread makes and ends it.
  absl::Mutex mu_;  // Leaf.
  BucketStore* store_ ABSL_GUARDED_BY(mu_) = nullptr;
  const IndexJob* job_ ABSL_GUARDED_BY(mu_) = nullptr;
  const IndexLease* building_ ABSL_GUARDED_BY(mu_) = nullptr;  // With job_.
  absl::Duration job_start_ ABSL_GUARDED_BY(mu_);
  uint64_t expected_keys_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<IndexManifest> manifest_ ABSL_GUARDED_BY(mu_);
  const Reader* reader_ ABSL_GUARDED_BY(mu_) = nullptr;
  FuseSession* session_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // The guard is gone.
};

}  // namespace bucketvol
