#include "mounter/cli/credential_change.h"

#include <utility>

#include "absl/synchronization/notification.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {

absl::Status VerifyCredentials(const VolumeSpec& spec, const Clock& clock,
                               const std::shared_ptr<Cancellation>& cancellation) {
  ASSIGN_OR_RETURN(const std::unique_ptr<StoreStack> stack, StoreStack::Make(spec, clock));
  ListRequest request;
  request.prefix = spec.options.source.prefix;
  request.max_keys = 1;
  request.cancellation = cancellation;
  absl::Status result;
  absl::Notification answered;
  stack->store().List(std::move(request), [&](absl::StatusOr<ListPage> page) {
    result = page.status();
    answered.Notify();
  });
  answered.WaitForNotification();
  return result;
}

CredentialChange::~CredentialChange() {
  if (thread_.joinable()) thread_.join();
}

void CredentialChange::Start(VolumeSpec spec, const std::string& bytes, std::shared_ptr<StoreStack> stack,
                             Done done) {
  if (thread_.joinable()) thread_.join();
  thread_ =
      std::thread([this, spec = std::move(spec), bytes, stack = std::move(stack), done = std::move(done)] {
        const absl::StatusOr<Secret> changed = Run(spec, bytes, *stack);
        done(changed.status(), changed.value_or(Secret()));
      });
}

absl::StatusOr<Secret> CredentialChange::Run(VolumeSpec spec, const std::string& bytes,
                                             StoreStack& stack) const {
  ASSIGN_OR_RETURN(const VolumeSpec received, ParseVolumeSpec(bytes));
  spec.credentials = received.credentials;
  RETURN_IF_ERROR(Annotate(VerifyCredentials(spec, clock_, cancellation_), "new credentials are not used"));
  RETURN_IF_ERROR(stack.ReplaceCredentials(spec.credentials));
  return SerializeVolumeSpec(spec);
}

}  // namespace bucketvol
