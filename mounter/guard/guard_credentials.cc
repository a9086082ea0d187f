#include <algorithm>

#include "mounter/guard/guard.h"
#include "mounter/guard/guard_log.h"
#include "mounter/guard/monotonic.h"

namespace bucketvol {

void Guard::OnNewCredentials(Client& client, const Message& message) {
  if (phase_ != Phase::kServing || !worker_ || !worker_->channel().open())
    return Report(client.channel, ResultCode::kFailed,
                  "no worker serves the mount at this moment; try again");
  if (!upgrade_.empty() || draining_)
    return Report(client.channel, ResultCode::kBusy, "mount is busy with another change");
  for (const Client& other : clients_) {
    if (other.wants_credentials)
      return Report(client.channel, ResultCode::kBusy, "credentials are being changed already");
  }
  client.wants_credentials = true;
  const std::vector<std::string> strings = message.Strings(3);
  client.credentials = strings[1];
  client.source_lock = strings[2];
  if (!worker_->channel().Send(EncodePacket(MessageType::kNewCredentials, "", message.payload)).ok())
    AnswerCredentials(ResultCode::kFailed, "worker does not take new credentials now; try again");
}

void Guard::OnCredentialsChecked(const Message& message) {
  const std::vector<std::string> strings = message.Strings(2);
  const ResultCode code = message.BodyAs<ResultBody>().code;
  if (code == ResultCode::kOk) {
    // The next worker begins with them; the one that waits for its turn has the old ones.
    spec_ = SecretPages(strings[1]);
    for (const Client& client : clients_) {
      if (client.wants_credentials) AdoptCredentials(client);
    }
    if (upgrade_.empty() && standby_) {
      DropStandby();
      standby_at_ = MonotonicMs();
    }
  }
  AnswerCredentials(code, strings[0]);
}

// Who mounts with the new ones shall find this guard.
void Guard::AdoptCredentials(const Client& client) {
  credentials_ = client.credentials;
  if (auto taken = TakeSource(client.source_lock); !taken.ok())
    return GuardLog("warning: " + taken.failure().text);
  TellClaims();
}

void Guard::AnswerCredentials(ResultCode code, const std::string& text) {
  Answer(&Client::wants_credentials, code, text);
}

}  // namespace bucketvol
