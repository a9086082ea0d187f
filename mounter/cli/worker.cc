#include "mounter/cli/worker.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/file.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/cgroup/node_capacity.h"
#include "mounter/cli/index_choice.h"
#include "mounter/cli/mount_status.h"
#include "mounter/cli/order_service.h"
#include "mounter/cli/store_stack.h"
#include "mounter/cli/ticker.h"
#include "mounter/cli/worker_sandbox.h"
#include "mounter/cli/worker_settings.h"
#include "mounter/image/image_sequence.h"
#include "mounter/image/image_server.h"
#include "mounter/sandbox/sandbox.h"

namespace bucketvol {
namespace {

// Progress goes out this often; a terminal needs no more.
constexpr int kProgressMs = 200;
// Pages are parsed by these threads; the network runs beside them.
constexpr int kListingThreads = 2;
// Large replies are copied to the kernel by these, beside the network thread.
constexpr int kReplyThreads = 2;
// How often the reader looks for memory to give back.
constexpr absl::Duration kTick = absl::Seconds(1);

absl::Status Failed(const Failure& failure) { return absl::InternalError(failure.text); }

}  // namespace

Worker::Worker(Channel guard, const Clock& clock)
    : guard_(std::move(guard)),
      clock_(clock),
      cancellation_(std::make_shared<Cancellation>()),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      credential_change_(clock, cancellation_) {}

Worker::~Worker() = default;

int Worker::Run() {
  const absl::Status status = Work();
  if (status.ok()) {
    (void)guard_.Send(EncodePacket(MessageType::kSessionEnded, "", "")).ok();
    return 0;
  }
  LogError(status.message());
  ResultBody body;
  body.code = ResultCode::kFailed;
  (void)guard_
      .SendWaiting(EncodeMessage(MessageType::kWorkerFailed, body, {Printable(status.message(), 4096)}))
      .ok();
  return 1;
}

absl::Status Worker::Work() {
  RETURN_IF_ERROR(HideProcess());
  RaiseFileLimit();
  Message start;
  if (guard_.ReceiveWaiting(start, -1) != Channel::Received::kMessage || !start.Is(MessageType::kStart) ||
      start.descriptors.empty()) {
    return absl::FailedPreconditionError("a worker is started by bucketvol-guard only");
  }
  ASSIGN_OR_RETURN(VolumeSpec spec, ParseVolumeSpec(start.Strings(1)[0]));
  ChooseCertificates(spec.options);
  options_ = spec.options;
  memory_ = PlanMemory(options_, ReadCgroupMemory(""), NodeCapacity().memory_bytes);
  proxy_credentials_ = spec.proxy_credentials;
  SetLogging({.level = LogLevelOf(options_.log_level)});
  RETURN_IF_ERROR(EnterWorkerSandbox(spec));
  std::string why;
  auto slots = RequestSlots::Map(std::move(start.descriptors.front()), why);
  if (!slots) return absl::FailedPreconditionError(why);
  start.descriptors.erase(start.descriptors.begin());
  ShareMemory(start);
  std::thread listener([this] { Listen(); });
  absl::Status status = Prepare(spec, std::move(start), *slots);
  {
    absl::MutexLock lock(&mu_);
    ended_ = true;
  }
  WakeListener();
  listener.join();
  cancellation_->Cancel();  // A change of credentials that still waits for the service.
  return status;
}

// Without it the mount has its budget for itself.
void Worker::ShareMemory(Message& start) {
  constexpr size_t kTableAndLocks = 2;
  std::vector<UniqueFd>& descriptors = start.descriptors;
  if (start.BodyAs<StartBody>().node_descriptors != kTableAndLocks || descriptors.size() < kTableAndLocks)
    return;
  UniqueFd locks = std::move(descriptors.back());
  descriptors.pop_back();
  UniqueFd table = std::move(descriptors.back());
  descriptors.pop_back();
  auto ledger = NodeLedger::Map(std::move(table), std::move(locks));
  if (!ledger.ok()) return LogWarning("memory is not shared out among mounts: ", ledger.status().message());
  node_ledger_ = *std::move(ledger);
  node_share_ = std::make_unique<NodeShare>(*node_ledger_, memory_.node);
}

absl::Status Worker::Prepare(const VolumeSpec& spec, Message start, RequestSlots& slots) {
  const bool first = start.BodyAs<StartBody>().role == WorkerRole::kFirst;
  ASSIGN_OR_RETURN(const std::shared_ptr<StoreStack> stack,
                   StoreStack::Make(spec, clock_, first ? Acquaintance::kNew : Acquaintance::kProven));
  {
    absl::MutexLock lock(&mu_);
    store_ = &stack->store();
    stack_ = stack;
  }
  absl::Cleanup forget_store = [&] {
    absl::MutexLock lock(&mu_);
    store_ = nullptr;
    stack_ = nullptr;
  };
  if (first) LogInfo("serving ", options_.source.ToString(), " from ", stack->store().Route());
  ASSIGN_OR_RETURN(ServedIndex index,
                   first ? FirstIndex(spec, stack->store())
                         : ServedIndex::Inherit(start.Strings(2)[1], std::move(start.descriptors)));
  // A revived mount comes with the words of a new command.
  if (!IndexFits(index.manifest(), options_)) {
    return absl::FailedPreconditionError(
        "the mount shows something else than these options ask for: unmount it, then mount again");
  }
  {
    absl::MutexLock lock(&mu_);
    manifest_ = index.manifest();
  }
  absl::Cleanup keep = [&] { KeepIndex(index.lease()); };
  return Serve(stack->store(), index, first ? WorkerRole::kFirst : WorkerRole::kSuccessor, slots);
}

absl::StatusOr<ServedIndex> Worker::FirstIndex(const VolumeSpec& spec, ObjectStore& store) {
  const absl::Time asked = clock_.WallNow();
  const IndexStore indexes(options_.state_dir, clock_);
  ASSIGN_OR_RETURN(IndexLease lease, indexes.Claim(IndexKeyOf(spec), *cancellation_,
                                                   [this](uint64_t keys) { TellWaiting(keys); }));
  ASSIGN_OR_RETURN(IndexManifest manifest, ProvideIndex(store, lease, asked));
  ASSIGN_OR_RETURN(ServedIndex index, ServedIndex::Open(std::move(manifest), std::move(lease)));
  RETURN_IF_ERROR(AnnounceImage(index));
  index.lease().ReleaseBuild();
  KeepIndex(index.lease());
  indexes.Collect();
  return index;
}

void Worker::KeepIndex(const IndexLease& lease) {
  const absl::Time until = clock_.WallNow() + std::max(IndexStore::kKeep, options_.index_max_age);
  if (auto kept = lease.KeepUntil(until); !kept.ok()) LogWarning(kept.message());
}

absl::Status Worker::Serve(BucketStore& store, const ServedIndex& index, WorkerRole role,
                           RequestSlots& slots) {
  const ImageSequence sequence(index.table());
  ThreadPool replies("bv-reply", kReplyThreads);
  Reader reader(store, clock_, reads_, ReaderSettingsOf(options_, memory_.budget),
                {.replies = &replies, .sequence = &sequence, .node = node_share_.get()});
  store.Observe(reader.congestion_observer());
  ImageServer server(index.table(), index.manifest().devices, reader, reads_);
  std::optional<Ticker> ticker;
  ThreadPool timer("timer", 1);
  ticker.emplace(timer, kTick, [&] { reader.Tick(); });
  {
    absl::MutexLock lock(&mu_);
    reader_ = &reader;
  }
  absl::Cleanup forget_reader = [&] {
    absl::MutexLock lock(&mu_);
    reader_ = nullptr;
  };
  if (role == WorkerRole::kSuccessor) Tell(MessageType::kReady);
  ASSIGN_OR_RETURN(ServeOrder order, AwaitOrder());
  std::optional<OrderService> orders;  // A predecessor records no more.
  if (!options_.direct_mode)
    orders.emplace(reader, index.table(), store, OrdersOf(index, role),
                   OrderService::List{options_.source.prefix, options_.prefetch_order});
  FuseSession session(
      {.request_timeout = options_.request_timeout, .most_attempts = order.body.most_attempts}, slots, clock_,
      timer);
  {
    absl::MutexLock lock(&mu_);
    if (ended_) return absl::CancelledError("interrupted");
    session_ = &session;
  }
  absl::Cleanup forget_session = [&] {
    absl::MutexLock lock(&mu_);
    session_ = nullptr;
  };
  Tell(MessageType::kServing);
  return session.Serve(std::move(order.fuse), server);
}

OrderKeeper::Settings Worker::OrdersOf(const ServedIndex& index, WorkerRole role) const {
  using Epoch = OrderKeeper::Settings::Epoch;
  return {.directory = index.lease().directory(),
          .most = OrderService::MostObjects(memory_.budget),
          .epoch = role == WorkerRole::kFirst ? Epoch::kNew : Epoch::kGoesOn};
}

absl::StatusOr<Worker::ServeOrder> Worker::AwaitOrder() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &Worker::HasOrderOrEnded));
  if (ended_ || !order_) return absl::CancelledError("interrupted");
  return *std::exchange(order_, std::nullopt);
}

void Worker::Tell(MessageType type) const { (void)guard_.Send(EncodePacket(type, "", "")).ok(); }

absl::StatusOr<IndexManifest> Worker::ProvideIndex(ObjectStore& store, const IndexLease& lease,
                                                   absl::Time asked) {
  auto found = ReadIndexManifest(lease.directory());
  const bool fits = found.ok() && IndexFits(*found, options_);
  {
    absl::MutexLock lock(&mu_);
    if (fits) expected_keys_ = found->report.keys;
  }
  if (!fits || !IsFreshEnough(*found, options_, asked)) found = Build(store, lease);
  RETURN_IF_ERROR(found.status());
  WarnOf(*found);
  return found;
}

absl::StatusOr<IndexManifest> Worker::Build(ObjectStore& store, const IndexLease& lease) {
  ThreadPool parsers("list", kListingThreads);
  IndexJob job(store, clock_, parsers, options_, lease.directory());
  {
    absl::MutexLock lock(&mu_);
    job_ = &job;
    building_ = &lease;
    job_start_ = clock_.Elapsed();
  }
  WakeListener();
  absl::Cleanup forget = [&] {
    absl::MutexLock lock(&mu_);
    job_ = nullptr;
    building_ = nullptr;
  };
  auto manifest = job.Run(cancellation_);
  if (manifest.ok()) {
    LogInfo("indexed ", manifest->report.keys, " keys in ",
            absl::FormatDuration(manifest->report.build_time));
  }
  return manifest;
}

absl::Status Worker::AnnounceImage(const ServedIndex& index) {
  const IndexManifest& manifest = index.manifest();
  ImageBody body;
  body.meta_bytes = manifest.meta_bytes;
  body.devices = static_cast<uint32_t>(manifest.devices.size());
  body.needs_48bit = manifest.needs_48bit ? 1 : 0;
  std::vector<int> descriptors = index.Legacy();
  descriptors.insert(descriptors.begin(), {index.meta().get(), index.lease().build_lock().get()});
  const Step sent =
      guard_.SendWaiting(EncodeMessage(MessageType::kImage, body, {index.meta_path()}), descriptors);
  return sent.ok() ? absl::OkStatus() : Failed(sent.failure());
}

void Worker::WarnOf(const IndexManifest& manifest) {
  const IndexReport& report = manifest.report;
  const auto warn = [this](const std::string& text) {
    LogWarning(text);
    (void)guard_.Send(EncodePacket(MessageType::kWarning, "", JoinStrings({text}))).ok();
  };
  if (report.keys == 0)
    warn(absl::StrCat("nothing is there to be shown: no key in ", options_.source.ToString()));
  uint64_t skipped = 0;
  for (const IndexReport::Skipped& reason : report.skipped) skipped += reason.count;
  if (skipped > 0) {
    warn(absl::StrCat(skipped, " of ", report.keys,
                      " keys cannot be shown as files (bucketvol status tells why)"));
  }
}

void Worker::WakeListener() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
}

bool Worker::AwaitEvent() {
  bool building;
  {
    absl::MutexLock lock(&mu_);
    building = job_ != nullptr;
  }
  pollfd ready[] = {{guard_.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  poll(ready, 2, building ? kProgressMs : -1);
  uint64_t count;
  [[maybe_unused]] const ssize_t got = ready[1].revents == 0 ? 0 : read(wake_.get(), &count, sizeof count);
  absl::MutexLock lock(&mu_);
  return !ended_;
}

void Worker::Listen() {
  Channel::Received received = Channel::Received::kNothing;
  while (received != Channel::Received::kClosed) {
    if (!AwaitEvent()) return;
    TellProgress();
    Message message;
    received = guard_.Receive(message);
    if (received == Channel::Received::kMessage) OnMessage(std::move(message));
  }
  // The guard wants no more of us, or is dead.
  cancellation_->Cancel();
  absl::MutexLock lock(&mu_);
  ended_ = true;
  if (store_ != nullptr) store_->Shutdown();
  if (session_ != nullptr) session_->Stop();
}

void Worker::OnMessage(Message message) {
  if (message.Is(MessageType::kNewCredentials)) {
    ChangeCredentials(message.Strings(1)[0]);
  } else if (message.Is(MessageType::kWorkerStatus)) {
    const auto body = message.BodyAs<WorkerStatusBody>();
    (void)guard_.Send(EncodeMessage(MessageType::kWorkerStatusReply, body, {Status()})).ok();
  } else if (message.Is(MessageType::kServe) && !message.descriptors.empty()) {
    absl::MutexLock lock(&mu_);
    order_.emplace(ServeOrder{message.BodyAs<ServeBody>(), std::move(message.descriptors.front())});
  } else if (message.Is(MessageType::kDrain)) {
    absl::MutexLock lock(&mu_);
    if (session_ != nullptr) session_->Stop();
  }
}

void Worker::ChangeCredentials(const std::string& bytes) {
  const auto answer = [this](const absl::Status& status, const Secret& spec) {
    if (status.ok())
      LogInfo("new credentials are in use");
    else
      LogWarning(status.message());
    ResultBody body;
    body.code = status.ok() ? ResultCode::kOk : ResultCode::kFailed;
    (void)guard_
        .SendWaiting(EncodeMessage(MessageType::kCredentialsChecked, body,
                                   {Printable(status.message(), 4096), spec.Reveal()}))
        .ok();
  };
  absl::ReleasableMutexLock lock(&mu_);
  const std::shared_ptr<StoreStack> stack = stack_;
  lock.Release();
  if (stack == nullptr)
    return answer(absl::UnavailableError("the mount is not served yet; try again"), Secret());
  VolumeSpec spec;
  spec.options = options_;
  spec.proxy_credentials = proxy_credentials_;
  credential_change_.Start(std::move(spec), bytes, stack, answer);
}

void Worker::TellProgress() {
  ProgressBody body;
  {
    absl::MutexLock lock(&mu_);
    if (job_ == nullptr) return;
    const ListerProgress& progress = job_->progress();
    body.keys = progress.keys.load();
    body.requests = progress.requests.load();
    body.streams = progress.streams.load();
    body.expected_keys = expected_keys_;
    body.elapsed_ms = static_cast<uint64_t>(absl::ToInt64Milliseconds(clock_.Elapsed() - job_start_));
    building_->NoteKeys(body.keys);
  }
  (void)guard_.Send(EncodeMessage(MessageType::kProgress, body)).ok();
}

void Worker::TellWaiting(uint64_t keys) const {
  ProgressBody body;
  body.keys = keys;
  body.of_another = 1;
  (void)guard_.Send(EncodeMessage(MessageType::kProgress, body)).ok();
}

std::string Worker::Status() {
  StatusDocument status;
  status.source = options_.source.ToString();
  status.kind = "image";
  status.index_fs = "erofs";
  status.read = ReadStatus(reads_);
  status.memory.limit = memory_.limit;
  if (node_share_ != nullptr) {
    status.memory.node_budget = node_share_->total();
    status.memory.node_used = node_share_->used_by_all();
  }
  absl::MutexLock lock(&mu_);
  if (store_ != nullptr) status.store = StoreStatus(store_->metrics());
  if (manifest_) status.index = IndexStatus(manifest_->report);
  if (job_ != nullptr) {
    status.index.keys = job_->progress().keys.load();
    status.index.list_requests = job_->progress().requests.load();
    status.index.list_streams_peak = job_->progress().streams_peak.load();
  }
  if (reader_ != nullptr) {
    status.memory.budget = reader_->memory().limit;
    status.memory.used = reader_->memory().used;
    status.last_error = reader_->last_error();
  }
  if (session_ != nullptr) {
    status.read.in_flight = session_->reads_in_flight();
    status.read.timed_out = session_->reads_timed_out();
  }
  return status.ToJson();
}

}  // namespace bucketvol
