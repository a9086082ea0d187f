#include "mounter/guard/guard.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "mounter/guard/guard_log.h"
#include "mounter/guard/monotonic.h"

namespace bucketvol {
namespace {

// A healthy worker answers in microseconds.
constexpr int64_t kStatusLimitMs = 2'000;

std::string EncodeResult(ResultCode code, const std::string& text, size_t mount_points) {
  ResultBody body;
  body.code = code;
  body.mount_points = static_cast<uint32_t>(mount_points);
  return EncodeMessage(MessageType::kResult, body, {text});
}

}  // namespace

void Guard::OnConnect() {
  UniqueFd fd(accept4(run_directory_->listener().get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.valid() && (errno == EMFILE || errno == ENFILE)) return TurnAway();
  if (!fd.valid()) return;
  Client client{Channel(std::move(fd))};
  const uid_t uid = client.channel.PeerProcess().uid;
  if (uid == 0 || uid == geteuid()) clients_.push_back(std::move(client));
}

// Who is not taken would be reported again and again.
void Guard::TurnAway() {
  spare_.Reset();
  UniqueFd(accept4(run_directory_->listener().get(), nullptr, nullptr, SOCK_CLOEXEC)).Reset();
  spare_ = UniqueFd(fcntl(signals_.get(), F_DUPFD_CLOEXEC, 0));
  GuardLog("warning: a client was turned away: no descriptor is left");
}

void Guard::OnClient(Client& client) {
  Message message;
  const Channel::Received received = client.channel.Receive(message);
  if (received == Channel::Received::kClosed) return OnClientGone(client);
  if (received == Channel::Received::kNothing) return;
  if (message.Is(MessageType::kStatus)) {
    client.wants_status = true;
    AskWorkerForStatus();
  } else if (message.Is(MessageType::kCredentials)) {
    OnNewCredentials(client, message);
  } else if (message.Is(MessageType::kUnmount)) {
    OnUnmountOrder(client, message);
  } else if (message.Is(MessageType::kUpgrade)) {
    OnUpgradeOrder(client, message);
  } else if (message.Is(MessageType::kRevive)) {
    OnRevivalOrder(client, message);
  } else if (message.Is(MessageType::kJoin)) {
    OnJoin(client, message);
  } else if (message.Is(MessageType::kCommit)) {
    client.uncommitted_path.clear();
  }
}

void Guard::OnClientGone(Client& client) {
  client.channel.Close();
  if (!client.uncommitted_path.empty()) OrderUnmount({client.uncommitted_path, MNT_DETACH, false});
}

void Guard::OnUnmountOrder(Client& client, const Message& message) {
  const auto body = message.BodyAs<UnmountBody>();
  const std::string path = message.Strings(1)[0];
  client.wants_end = true;
  client.end_path = path.empty() ? plan_.mount_point : path;
  OrderUnmount({client.end_path, body.lazy != 0 || body.force != 0 ? MNT_DETACH : 0, body.force != 0});
}

void Guard::OnUpgradeOrder(Client& client, const Message& message) {
  if (phase_ != Phase::kServing || !upgrade_.empty() || draining_)
    return Report(client.channel, ResultCode::kBusy, "mount is busy with another change");
  if (refuser_)
    return Report(client.channel, ResultCode::kBusy, "mount is degraded: bucketvol mount revives it");
  client.wants_upgrade = true;
  Upgrade(message.Strings(1)[0]);
}

void Guard::OnRevivalOrder(Client& client, const Message& message) {
  if (!refuser_) return Report(client.channel, ResultCode::kBusy, "a worker serves already");
  client.wants_revival = true;
  const std::vector<std::string> strings = message.Strings(4);
  if (!strings[1].empty()) {
    terms_ = strings[2];
    credentials_ = strings[3];
  }
  Revive(strings[0], strings[1]);
}

void Guard::Report(Channel& to, ResultCode code, const std::string& text) const {
  if (auto sent = to.Send(EncodeResult(code, text, places_.size())); !sent.ok())
    GuardLog("warning: result not delivered: " + text);
}

void Guard::Answer(bool Client::*wanted, ResultCode code, const std::string& text) {
  for (Client& client : clients_) {
    if (std::exchange(client.*wanted, false)) Report(client.channel, code, text);
  }
}

void Guard::AnswerUnmounts(ResultCode code, const std::string& text) {
  Answer(&Client::wants_end, code, text);
}

void Guard::AskWorkerForStatus() {
  if (!worker_ || !worker_->channel().open()) return AnswerStatus();
  WorkerStatusBody body;
  body.request = ++status_request_;
  if (!worker_->channel().Send(EncodeMessage(MessageType::kWorkerStatus, body)).ok()) return AnswerStatus();
  if (status_deadline_ == 0) status_deadline_ = MonotonicMs() + kStatusLimitMs;
}

void Guard::AnswerStatus() {
  status_deadline_ = 0;
  GuardStatusBody body;
  body.state = State();
  body.guard_pid = getpid();
  body.worker_pid = worker_ ? worker_->pid() : 0;
  body.worker_restarts = restart_count_;
  body.transport = plan_.transport;
  body.standby_pid = standby_ ? standby_->pid() : 0;
  body.standby_ready = standby_ready_ ? 1 : 0;
  body.protocol = kProtocol;
  std::vector<std::string_view> strings = {places_.empty() ? plan_.mount_point : places_.front().path,
                                           last_error_, document_};
  for (const Place& place : places_) strings.push_back(place.path);
  const std::string reply = EncodeMessage(MessageType::kStatusReply, body, strings);
  for (Client& client : clients_) {
    if (!client.wants_status) continue;
    client.wants_status = false;
    if (!client.channel.Send(reply).ok()) client.channel.Close();
  }
}

MountState Guard::State() const {
  switch (phase_) {
    case Phase::kBuilding:
    case Phase::kAttaching:
      return MountState::kBuilding;
    case Phase::kUncommitted:
    case Phase::kServing:
    case Phase::kDetaching:
      return refuser_ || fuse_.Ended() ? MountState::kDegraded : MountState::kReady;
    case Phase::kEnding:
    case Phase::kDone:
      return MountState::kStopped;
  }
  return MountState::kStopped;
}

}  // namespace bucketvol
