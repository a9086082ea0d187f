#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "mounter/base/unique_fd.h"
#include "mounter/cgroup/held_cgroup.h"
#include "mounter/guard/channel.h"
#include "mounter/guard/fuse_connection.h"
#include "mounter/guard/helper_child.h"
#include "mounter/guard/image_mount.h"
#include "mounter/guard/lock_file.h"
#include "mounter/guard/mount_table.h"
#include "mounter/guard/outcome.h"
#include "mounter/guard/protocol.h"
#include "mounter/guard/request_refuser.h"
#include "mounter/guard/restart_policy.h"
#include "mounter/guard/run_directory.h"
#include "mounter/guard/secret_pages.h"
#include "mounter/guard/worker_process.h"
#include "mounter/session/request_slots.h"

namespace bucketvol {

/// Owns a source, the kernel objects of its mount and the worker that serves it, from the command to the last
/// reader.
///
/// Two locks that die with it say so: of the source, and of each mount point. Who wants to mount the source
/// elsewhere joins: the same file system is mounted there too, and the guard lives until the last one is
/// gone.
///
/// One thread, one poll loop, and no call that may block: what may runs in a helper child. The spec and the
/// secrets are opaque bytes that it passes to every worker it starts. A worker that dies, or makes no
/// progress, is replaced by one that waits for that; when they keep dying it answers every request with EIO
/// itself until it is told to try again. Nothing of a mount outlives it: a failure, an interruption or an
/// unmount ends the worker, the loop devices, the mount and the files of the run directory, in this order of
/// need.
class Guard {
 public:
  /// `control`: the connection to the command that started this guard. `run_directory`: for its own files.
  Guard(Channel control, std::string run_directory);

  /// Runs until nothing is left to guard. The exit code of the process.
  int Run();

 private:
  enum class Phase {
    kBuilding,     // The worker makes the image.
    kAttaching,    // A helper mounts it.
    kUncommitted,  // Mounted; the command has not yet said that it knows.
    kServing,
    kDetaching,  // Unmounted here; the last users elsewhere are awaited.
    kEnding,     // Everything is being taken down.
    kDone,
  };
  /// Where the image is mounted, or shall be.
  struct Place {
    std::string path;
    std::optional<LockFile> lock;
    uint64_t id = 0;      // Of the mount, 0 before it is made. May be used again once it is gone,
    uint64_t device = 0;  // so that st_dev is compared too.
  };
  struct UnmountOrder {
    std::string path;
    int flags = 0;
    bool force = false;
  };
  struct Client {
    Channel channel;
    bool wants_status = false;
    bool wants_end = false;
    bool wants_credentials = false;
    bool wants_upgrade = false;
    bool wants_revival = false;
    std::string end_path = {};          // What shall end.
    std::optional<Place> place = {};    // Waits for its turn to be mounted.
    std::string credentials = {};       // Of a join or a change of credentials: which ones they are,
    std::string source_lock = {};       // and whose source they make it.
    std::string uncommitted_path = {};  // Mounted for this client, which has not yet said that it knows.
  };
  enum class Job { kAttach, kJoin, kUnmount };
  using Handler = void (Guard::*)();

  Step Prepare();
  void PollOnce();
  int PollTimeout() const;

  // What happened.
  void OnControl();
  void OnCommandGone();
  void OnWorkerMessage();
  void OnImage(Message message);
  void OnServing();
  void OnWorkerExit();
  void OnStandbyMessage();
  void OnStandbyExit();
  void OnRefusable();
  void OnHelper();
  void OnHelperLate();
  void OnHelperEnd();
  void OnAttached(const Message& report);
  void OnUnmounted(const Message& report);
  void OnUnmountedOne(const UnmountOrder& order, ResultCode code, const std::string& why);
  void OnAttachedLate(const Message& report);
  void OnConnect();
  void TurnAway();
  void OnClient(Client& client);
  void OnClientGone(Client& client);
  void OnUnmountOrder(Client& client, const Message& message);
  void OnUpgradeOrder(Client& client, const Message& message);
  void OnRevivalOrder(Client& client, const Message& message);
  void OnSignal();
  void OnMountTableChange();
  void OnTime();

  // Further mount points (guard_joins.cc).
  void OnJoin(Client& client, const Message& message);
  void StartJoin(Client& client);
  void OnJoined(const Message& report);
  void AnswerJoin(ResultCode code, const std::string& path, const std::string& text);
  /// Passes on what the worker tells of its work.
  void TellCommands(MessageType type, const Message& message);
  /// Sends those away who wait for a mount that is not going to be made.
  void TurnJoinsAway();

  // What is owned (guard_ownership.cc).
  Step TakeSource(const std::string& lock);
  Step TakePlace(const std::string& path, const std::string& lock);
  static Outcome<std::optional<LockFile>> TakeLock(const std::string& lock, const std::string& what);
  void TellClaims();
  /// Forgets what is no longer mounted.
  void DropGonePlaces();
  /// From here on another guard may mount the source.
  void GiveUpOwnership();
  Place* PlaceAt(const std::string& path);
  static bool IsIn(const std::vector<MountEntry>& table, const Place& place);

  // New credentials (guard_credentials.cc).
  void OnNewCredentials(Client& client, const Message& message);
  void OnCredentialsChecked(const Message& message);
  void AdoptCredentials(const Client& client);
  void AnswerCredentials(ResultCode code, const std::string& text);

  // Workers.
  Step StartFirst();
  Outcome<WorkerProcess> Launch(WorkerRole role, const std::string& program);
  Step Serve(WorkerProcess& worker);
  /// Makes sure that a successor is there or on its way.
  void StartStandby();
  /// Lets the next worker serve as soon as one is ready.
  void TakeOver();
  void Promote();
  void Replace(const std::string& how, int64_t served_ms);
  void Degrade();
  void Revive(const std::string& program, const std::string& spec);
  /// Has a worker of another program take over, once it is ready; until then nothing changes.
  void Upgrade(const std::string& program);
  void FailUpgrade(const std::string& why);
  int64_t ReadyLimitMs() const;
  void DropStandby();
  void ForgetStandby();
  /// Makes sure that the one which waits would answer if it were needed.
  void AwaitStandbyCheck();
  void AskStandby();
  void KillLateStandby();
  void WatchProgress();
  /// Kills a worker that makes no progress.
  void CheckProgress();
  std::string StallOf(int64_t now);

  // What to do.
  /// Begins what waits for the helper.
  void StartNextJob();
  void OrderUnmount(UnmountOrder order);
  void OrderUnmountOfAll();
  void StartUnmount();
  Step StartHelper(Job job, const std::vector<int>& keep, int64_t limit_ms, const HelperChild::Work& work);
  Step StartUnmountHelper(const std::vector<std::string>& paths, int flags);
  /// Ends the order that is being carried out.
  void FinishOrder(const UnmountOrder& order, ResultCode code, const std::string& text);
  void LeaveUnmount();
  void EndByForce();
  void StartDetaching();
  /// Takes everything down and reports `code` and `text`; the first reason given stands.
  void Stop(ResultCode code, std::string text);
  /// The same because somebody wanted it: nothing is wrong with the source.
  void Interrupt(std::string text);
  void AdvanceEnding();
  void AbortConnection();
  void DismissWorker();
  void EndFinishing();
  void Finish();

  // Answers.
  void Report(Channel& to, ResultCode code, const std::string& text) const;
  /// Answers every client that waits for one thing.
  void Answer(bool Client::*wanted, ResultCode code, const std::string& text);
  void AnswerUnmounts(ResultCode code, const std::string& text);
  void AskWorkerForStatus();
  void AnswerStatus();
  bool IsMounted() const;
  MountState State() const;

  Channel control_;
  const std::string run_path_;
  std::optional<RunDirectory> run_directory_;
  UniqueFd signals_;
  UniqueFd spare_;  // Closed to take, and turn away, a client where no descriptor is left.
  UniqueFd mount_table_;

  // From the command.
  ImagePlan plan_;
  std::string worker_program_;
  UniqueFd program_lock_;  // See HoldProgram,
  UniqueFd upgrade_lock_;  // and for upgrade_.
  SecretPages spec_;
  HeldCgroup cgroup_;  // Of the workers; removed at the end.
  bool foreground_ = false;
  int64_t request_limit_ms_ = 0;

  Phase phase_ = Phase::kBuilding;
  FuseConnection fuse_;
  UniqueFd meta_;
  std::optional<RequestSlots> slots_;
  std::vector<UniqueFd> legacy_;  // What the first worker left for its successors.
  std::optional<WorkerProcess> worker_;
  std::optional<WorkerProcess> standby_;
  bool standby_ready_ = false;
  bool standby_asked_ = false;  // Whether it still answers; it has not yet.
  uint64_t generation_ = 0;     // Of the worker that was started last.
  RestartPolicy restarts_{0};
  uint32_t restart_count_ = 0;
  std::string upgrade_;    // The program of a standby that shall take over as soon as it is ready.
  bool draining_ = false;  // The worker was told to end, and that one waits for it.
  bool serving_ = false;   // The worker takes requests,
  int64_t serving_since_ = 0;
  uint64_t beat_ = 0;  // and its heart beat last
  int64_t beat_since_ = 0;
  int64_t watched_since_ = 0;              // When the worker was told to serve.
  std::optional<RequestRefuser> refuser_;  // Degraded: there is no worker, and none is on its way.
  std::optional<HelperChild> helper_;
  Job job_ = Job::kAttach;                // What it does,
  std::optional<Place> joining_;          // and where, in kJoin.
  bool helper_given_up_ = false;          // It was late, and the connection was aborted for it.
  std::optional<HelperChild> finishing_;  // Has reported and goes on with what nobody waits for.
  std::string terms_;                     // On which the volume is served,
  std::string credentials_;               // and with which credentials: see MessageType::kJoin.
  std::vector<LockFile> source_locks_;
  std::vector<std::string> sources_;
  std::vector<Place> places_;        // From kAttaching on the first one; empty once nothing is mounted here.
  std::deque<UnmountOrder> orders_;  // Wait for the helper,
  std::optional<UnmountOrder> order_;  // and which one is carried out.

  std::list<Client> clients_;
  std::string document_;  // The worker's last status document.
  uint64_t status_request_ = 0;
  std::string last_error_;
  std::string last_words_;  // What a worker that is about to end said.
  ResultCode result_ = ResultCode::kOk;
  std::string result_text_;

  // Monotonic milliseconds; 0: none.
  int64_t helper_deadline_ = 0;
  int64_t worker_deadline_ = 0;
  int64_t standby_at_ = 0;        // The next one is started.
  int64_t standby_deadline_ = 0;  // It is not ready, or has not answered, by then: killed.
  int64_t standby_check_ = 0;
  int64_t progress_check_ = 0;
  int64_t detach_deadline_ = 0;
  int64_t status_deadline_ = 0;
  int64_t log_check_ = 0;
};

}  // namespace bucketvol
