#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "mounter/index/interval_table.h"
#include "mounter/index/lister.h"
#include "mounter/index/lister_streams.h"
#include "mounter/index/run_buffer.h"

namespace bucketvol {

/// Asks for pages, checks them, and keeps their keys until they are next.
///
/// One thread takes the batches out with Next(). Pages are looked at by tasks on the executor, which may
/// write to the spill file; the store's threads only pass them on. Tasks hold the core alive. Thread-safe.
class ListerCore : public std::enable_shared_from_this<ListerCore> {
 public:
  /// Borrows all references until Stop() and AwaitQuiet() have returned.
  ListerCore(ObjectStore& store, const Clock& clock, Executor& executor, ListerSettings settings,
             ListerProgress& progress);

  void Start();
  /// Waits for the keys that are next in order; nullopt at the end, the first error otherwise.
  absl::StatusOr<std::optional<Batch>> Next();
  /// Reads the rows of a batch that Next() gave, wherever they are.
  absl::Status ReadRows(const Batch& batch, std::string& rows);
  /// Ends the listing with `reason` unless it has failed before; cancels what is in flight. Callable at any
  /// time.
  void Stop(const absl::Status& reason);
  /// Waits until no request is in flight and no page is being looked at.
  void AwaitQuiet();

 private:
  struct Answer;
  // A listing with a delimiter, for landmarks.
  struct LandmarkQuery {
    std::string prefix;
    std::string start_after;
    bool first = false;    // Of the listing.
    absl::Duration asked;  // When it was sent.
  };
  struct Outgoing {
    std::vector<std::pair<Interval*, ListRequest>> pages;
    std::vector<LandmarkQuery> landmarks;
  };

  // Handing out.
  void DropFinishedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::optional<Batch> TakeBatchLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRoomAgainLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Asking.
  void Pump();
  Outgoing PlanLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  ListRequest RequestFor(const Interval& interval) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CountRequestLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Ask(Interval* interval, ListRequest request);
  void Send(Outgoing outgoing);
  LandmarkQuery NextLandmarkQueryLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AskForLandmarks(LandmarkQuery query);
  void FollowUpLocked(const LandmarkQuery& query, const ListPage& page) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Answers.
  void Process(Answer answer);
  void ProcessLandmarks(const LandmarkQuery& query, absl::StatusOr<ListPage> page);
  void OnError(Interval& interval, const absl::Status& error);
  void OnFault(Interval& interval, const absl::Status& fault);
  void OnEmptyPage(Interval& interval, ListPage page);
  void OnPage(Answer answer);
  bool EndsTooEarly(Interval& interval, const IntervalTable::PageNews& news);
  absl::StatusOr<Batch> MakeBatch(Interval& interval, ListPage& page, size_t count, bool keep_page);
  void RestAndTryAgain(Interval& interval);
  void Finish();

  ObjectStore& store_;
  const Clock& clock_;
  Executor& executor_;
  const ListerSettings settings_;
  ListerProgress& progress_;
  SpillFile spill_;
  const std::shared_ptr<Cancellation> stop_ = std::make_shared<Cancellation>();

  absl::Mutex
      mu_;  // Not held while store, executor, sink or file are at work. SpillFile's lock ranks below it.
  absl::CondVar changed_;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  IntervalTable table_ ABSL_GUARDED_BY(mu_);
  StreamControl streams_ ABSL_GUARDED_BY(mu_);
  int in_flight_ ABSL_GUARDED_BY(mu_) = 0;  // Requests not yet answered, and answers not yet looked at.
  uint64_t held_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool held_back_ ABSL_GUARDED_BY(mu_) = false;    // There is no room for more keys.
  bool tokens_only_ ABSL_GUARDED_BY(mu_) = false;  // The service refuses keys as start-after.
  uint64_t pages_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<LandmarkQuery> landmark_queries_ ABSL_GUARDED_BY(mu_);  // To be asked.
  int landmarks_out_ ABSL_GUARDED_BY(mu_) = 0;                        // Asked for and not yet answered.
  bool first_landmarks_out_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace bucketvol
