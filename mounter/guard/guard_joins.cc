// The source at further mount points.

#include <sys/mount.h>

#include <cerrno>
#include <utility>

#include "mounter/guard/guard.h"
#include "mounter/guard/guard_helpers.h"

namespace bucketvol {
namespace {

// Nothing of it waits for a worker.
constexpr int64_t kJoinLimitMs = 30'000;

}  // namespace

void Guard::OnJoin(Client& client, const Message& message) {
  if (phase_ > Phase::kServing) return client.channel.Close();
  const std::vector<std::string> strings = message.Strings(4);
  if (foreground_) {
    return Report(client.channel, ResultCode::kBusy,
                  "source is mounted with --foreground, which nothing can join: " + plan_.mount_point);
  }
  if (strings[2] != terms_) {
    ResultBody body;
    body.code = ResultCode::kOtherTerms;
    (void)client.channel
        .Send(EncodeMessage(MessageType::kResult, body, {"source is mounted on other terms", terms_}))
        .ok();
    return;
  }
  auto lock = TakeLock(strings[1], "mount point is busy");
  if (!lock.ok()) return Report(client.channel, ResultCode::kBusy, lock.failure().text);
  client.place.emplace(Place{strings[0], std::move(lock.value())});
  client.credentials = strings[3];
}

void Guard::StartJoin(Client& client) {
  Place place = *std::exchange(client.place, std::nullopt);
  if (refuser_) return Report(client.channel, ResultCode::kDegraded, "mount is degraded");
  if (fuse_.Ended()) {
    return Report(
        client.channel, ResultCode::kFailed,
        "source is mounted, but its connection has ended; unmount it first: " + places_.front().path);
  }
  if (client.credentials != credentials_)
    return Report(client.channel, ResultCode::kOtherCredentials, "source is mounted with other credentials");
  std::vector<StandingMount> standing;
  for (const Place& one : places_) standing.push_back({one.path, one.id, one.device});
  const auto started =
      StartHelper(Job::kJoin, {}, kJoinLimitMs,
                  [&standing, path = place.path](const Channel& parent) { RunJoin(parent, standing, path); });
  if (!started.ok()) return Report(client.channel, ResultCode::kFailed, started.failure().text);
  client.uncommitted_path = place.path;
  joining_.emplace(std::move(place));
}

void Guard::OnJoined(const Message& report) {
  const auto body = report.BodyAs<HelperReport>();
  Place place = *std::exchange(joining_, std::nullopt);
  if (body.code != ResultCode::kOk) return AnswerJoin(body.code, place.path, report.Strings(1)[0]);
  place.id = body.mount_id;
  place.device = body.device;
  const std::string path = place.path;
  places_.push_back(std::move(place));
  TellClaims();
  AnswerJoin(ResultCode::kOk, path, "");
  // What was unmounted meanwhile.
  if (phase_ == Phase::kServing) OnMountTableChange();
}

void Guard::AnswerJoin(ResultCode code, const std::string& path, const std::string& text) {
  for (Client& client : clients_) {
    if (client.uncommitted_path != path || !client.channel.open()) continue;
    if (code != ResultCode::kOk) client.uncommitted_path.clear();
    return Report(client.channel, code, text);
  }
  if (code == ResultCode::kOk) OrderUnmount({path, MNT_DETACH, false});
}

void Guard::TellCommands(MessageType type, const Message& message) {
  const std::string packet = EncodePacket(type, message.body, message.payload);
  if (control_.open()) (void)control_.Send(packet).ok();
  for (const Client& client : clients_) {
    if (client.place) (void)client.channel.Send(packet).ok();
  }
}

void Guard::TurnJoinsAway() {
  for (Client& client : clients_) {
    if (client.place || !client.uncommitted_path.empty()) client.channel.Close();
    client.place.reset();
  }
}

}  // namespace bucketvol
