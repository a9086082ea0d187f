#include "mounter/cli/worker.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/cgroup/node_capacity.h"
#include "mounter/cli/index_choice.h"
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

// Large replies are copied to the kernel by these, beside the network thread.
constexpr int kReplyThreads = 2;
// How often the reader looks for memory to give back.
constexpr absl::Duration kTick = absl::Seconds(1);

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

}  // namespace bucketvol
