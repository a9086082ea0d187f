#include "mounter/cli/guard_dialogue.h"

#include <poll.h>

#include "mounter/cli/exit_code.h"

namespace bucketvol {

absl::StatusOr<Message> AwaitResult(const Channel& channel, const UniqueFd& interrupts, int limit_ms,
                                    Console& console) {
  while (true) {
    pollfd ready[] = {{interrupts.get(), POLLIN, 0}, {channel.fd(), POLLIN, 0}};
    const int events = poll(ready, 2, limit_ms);
    if (events < 0) continue;
    if (events == 0) return absl::DeadlineExceededError("guard does not answer");
    if (ready[0].revents != 0) return InterruptedError("interrupted");
    Message message;
    switch (channel.Receive(message)) {
      case Channel::Received::kNothing:
        continue;
      case Channel::Received::kClosed:
        return absl::UnavailableError("guard ended unexpectedly");
      case Channel::Received::kMessage:
        break;
    }
    if (message.Is(MessageType::kProgress)) console.Progress(message.BodyAs<ProgressBody>());
    if (message.Is(MessageType::kWarning)) console.Warn(message.Strings(1)[0]);
    if (message.Is(MessageType::kResult)) return message;
  }
}

}  // namespace bucketvol
