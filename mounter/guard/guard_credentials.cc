#include "mounter/guard/guard.h"

namespace bucketvol {

void Guard::OnNewCredentials(Client& client, const Message& message) {
  if (phase_ != Phase::kServing || !worker_ || !worker_->channel().open())
    return Report(client.channel, ResultCode::kFailed,
                  "no worker serves the mount at this moment; try again");
  for (const Client& other : clients_) {
    if (other.wants_credentials)
      return Report(client.channel, ResultCode::kBusy, "credentials are being changed already");
  }
  client.wants_credentials = true;
  if (!worker_->channel().Send(EncodePacket(MessageType::kNewCredentials, "", message.payload)).ok())
    AnswerCredentials(ResultCode::kFailed, "worker does not take new credentials now; try again");
}

void Guard::OnCredentialsChecked(const Message& message) {
  const std::vector<std::string> strings = message.Strings(2);
  const ResultCode code = message.BodyAs<ResultBody>().code;
  // The next worker begins with them.
  if (code == ResultCode::kOk) spec_ = SecretPages(strings[1]);
  AnswerCredentials(code, strings[0]);
}

void Guard::AnswerCredentials(ResultCode code, const std::string& text) {
  for (Client& client : clients_) {
    if (!client.wants_credentials) continue;
    client.wants_credentials = false;
    Report(client.channel, code, text);
  }
}

}  // namespace bucketvol
