#include "mounter/cli/guard_orders.h"

#include "mounter/base/secret.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/guard_locks.h"
#include "mounter/cli/mount_programs.h"
#include "mounter/cli/source_identity.h"

namespace bucketvol {
namespace {

// A service that does not answer is given up well before.
constexpr int kCredentialsLimitMs = 150'000;
// A guard tries for a quarter of a request's time before it gives up again.
constexpr int kRevivalLimitMs = 60'000;

absl::Status Send(const GuardProcess& guard, const std::string& packet, int limit_ms) {
  ASSIGN_OR_RETURN(const Message answer, AskGuard(guard, packet, MessageType::kResult, limit_ms));
  return StatusOfResult(answer);
}

}  // namespace

absl::Status SendCredentials(const GuardProcess& guard, const VolumeSpec& spec) {
  const Secret bytes = SerializeVolumeSpec(spec);
  const std::vector<std::string>& sources = guard.claims.sources;
  const std::string lock =
      sources.empty() ? "" : LockOfSource(WithCredentials(sources.front(), spec.credentials));
  const std::string digest = DigestOf(spec.credentials);
  return Send(guard, EncodePacket(MessageType::kCredentials, "", JoinStrings({bytes.Reveal(), digest, lock})),
              kCredentialsLimitMs);
}

absl::Status SendRevival(const GuardProcess& guard, GuardSettings settings, const std::string& state_dir) {
  const auto programs = CopyPrograms(state_dir, settings.program_directory, settings.warnings);
  const std::string worker = settings.worker_program();
  const SourceIdentity& identity = settings.identity;
  return Send(guard,
              EncodePacket(MessageType::kRevive, "",
                           JoinStrings({worker, settings.spec, identity.terms, identity.credentials})),
              kRevivalLimitMs);
}

}  // namespace bucketvol
