#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "mounter/base/unique_fd.h"

namespace bucketvol {

// The words that command line, guard and worker say to each other over SOCK_SEQPACKET sockets of one machine.
//
// A packet is a header, a fixed body and a payload of strings; descriptors travel beside it (SCM_RIGHTS).
// Programs of different versions talk to each other (a guard outlives upgrades), so:
//   - a receiver skips types it does not know;
//   - a body shorter than the receiver's struct is filled with zeros, a longer one is cut: fields are only
//     ever added at the end, and zero means "as before";
//   - strings missing at the end of the payload are empty, further ones are ignored.
// Integers are in host order: both ends are on the same machine.

enum class MessageType : uint16_t {
  // Command line -> guard, on the inherited socket.
  // MountBody; strings: mount point, worker program, spec (holds secrets), directories of the worker's cgroup
  // (JoinDirectories), lock files of the mount point and of the source (empty: none), terms and credentials
  // (see kJoin); descriptors: the node's memory (StartBody), or none
  kMount = 1,
  kCommit = 2,  // The result was seen: from now on the mount stays when the command line goes away.

  // Guard -> command line.
  kProgress = 16,  // ProgressBody
  kResult = 17,    // ResultBody; strings: text

  // Any client -> guard, on the socket of the run directory.
  kStatus = 32,   // no body
  kUnmount = 33,  // UnmountBody; strings: mount point (empty: the first one)
  kUpgrade = 34,  // strings: worker program; answered by kResult
  kRevive = 35,   // strings: worker program, spec (empty: as before), its terms and credentials; answered by
                  // kResult
  kCredentials =
      40,  // strings: spec of which the credentials count (secret), what kJoin says of them, the lock
           // file of the source with them; answered by kResult
  // Mounts the source at a further mount point. Strings: mount point, its lock file, the terms on which the
  // volume is served, and what tells one set of credentials from another (no secret). Both are compared by
  // their bytes. Answered by kProgress, kWarning and kResult, upon which the client says kCommit or goes
  // away;
  // a channel that closes without an answer: the guard ends, try again.
  kJoin = 41,

  // Guard -> client.
  kStatusReply = 48,  // GuardStatusBody; strings: mount point, last error, the worker's document (JSON), then
                      // every mount point

  // Guard -> worker, on descriptor 3 of the worker.
  kStart = 64,  // StartBody; strings: spec, path of the metadata image; descriptors: the request slots, then
                // for a successor what the first worker left (kImage), then those that the body counts
  kWorkerStatus = 65,    // WorkerStatusBody
  kServe = 66,           // ServeBody; descriptors: the FUSE connection. Once, when no other worker has it.
  kDrain = 67,           // Take no more requests, answer what is in flight, and end.
  kNewCredentials = 72,  // strings: as in kCredentials

  // Worker -> guard (and kProgress).
  kImage = 80,  // ImageBody; strings: path of the metadata image; descriptors: the metadata image, a lock
                // that keeps others from replacing it until the guard has opened it, then what its successors
                // shall get
  kWorkerFailed = 81,        // ResultBody; strings: text
  kWorkerStatusReply = 82,   // WorkerStatusBody; strings: the document (JSON)
  kSessionEnded = 83,        // The kernel closed the FUSE connection: nothing is mounted any more.
  kWarning = 84,             // strings: text for the user; passed on to the command line
  kReady = 85,               // A successor could serve now.
  kServing = 86,             // It does: what its predecessor left is taken over.
  kCredentialsChecked = 90,  // ResultBody; strings: text, the whole spec with the new credentials (secret)
};

struct MessageHeader {
  static constexpr uint32_t kMagic = 0x31475642;  // "BVG1"
  uint32_t magic = kMagic;
  uint16_t type = 0;
  uint16_t header_bytes = 0;  // Where the body begins.
  uint32_t body_bytes = 0;
  uint32_t payload_bytes = 0;
};

enum class Transport : uint32_t { kLoop = 0, kFile = 1 };

struct MountBody {
  Transport transport = Transport::kLoop;
  uint32_t foreground = 0;          // Ends, with the mount, when the command line goes away.
  uint32_t request_timeout_ms = 0;  // After which the worker answers a request with EIO; 0: 110 s.
  uint32_t padding = 0;
};

struct ProgressBody {
  uint64_t keys = 0;
  uint64_t requests = 0;
  uint64_t expected_keys = 0;  // From an earlier index of the same source; 0: unknown.
  uint64_t elapsed_ms = 0;
  uint32_t streams = 0;
  uint32_t of_another =
      0;  // 1: the keys are those of another mount, which builds the index that this one awaits.
};

enum class ResultCode : uint32_t {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kBusy = 3,
  // Of kMount:
  kOwned = 4,  // Another guard has the source.
  // Of kJoin:
  kOtherTerms = 5,  // Strings: text, the terms here.
  kOtherCredentials = 6,
  kDegraded = 7,  // kRevive comes first.
};

struct ResultBody {
  ResultCode code = ResultCode::kOk;
  uint32_t mount_points = 0;  // After kUnmount: those at which the guard goes on.
};

struct UnmountBody {
  uint32_t lazy = 0;   // Detach now, end when the last user is gone.
  uint32_t force = 0;  // Detach now and give every reader an error.
};

/// Grows with each message that a client must not send to a guard that does not know it: such a guard would
/// never answer.
inline constexpr uint32_t kProtocolUpgrade = 2;      // kUpgrade, kRevive
inline constexpr uint32_t kProtocolCredentials = 3;  // kCredentials
inline constexpr uint32_t kProtocolJoin = 4;         // kJoin
inline constexpr uint32_t kProtocol = kProtocolJoin;

enum class MountState : uint32_t { kBuilding = 0, kReady = 1, kDegraded = 2, kStopped = 3 };

struct GuardStatusBody {
  MountState state = MountState::kBuilding;
  int32_t guard_pid = 0;
  int32_t worker_pid = 0;  // 0: none runs.
  uint32_t worker_restarts = 0;
  Transport transport = Transport::kLoop;
  int32_t standby_pid = 0;     // The worker that waits for its turn; 0: none.
  uint32_t standby_ready = 0;  // It could serve now.
  uint32_t protocol = 0;       // kProtocol of the guard: what it understands.
};

enum class WorkerRole : uint32_t {
  kFirst = 0,      // Provides the index, announces its image and serves.
  kSuccessor = 1,  // Opens the index of the mounted image, says kReady and waits for kServe.
};

struct StartBody {
  uint64_t generation = 0;  // Counts the workers of this mount from 1.
  WorkerRole role = WorkerRole::kFirst;
  // The last ones of the descriptors: table and locks of the memory that all mounts of the node share
  // (NodeLedger); 0: it shares with nobody.
  uint32_t node_descriptors = 0;
};

struct ServeBody {
  uint64_t generation = 0;     // As in StartBody.
  uint32_t most_attempts = 0;  // So often a request may be taken over; then it is answered EIO. 0: no limit.
  uint32_t padding = 0;
};

struct WorkerStatusBody {
  uint64_t request = 0;  // Comes back in the reply.
};

struct ImageBody {
  uint64_t meta_bytes = 0;
  uint32_t devices = 0;  // Files "data0" … of the FUSE connection, in the order of the image's device table.
  uint32_t needs_48bit = 0;
};

/// One packet, taken apart.
struct Message {
  uint16_t type = 0;  // A MessageType, or one that only the other side knows.
  std::string body;
  std::string payload;
  std::vector<UniqueFd> descriptors;

  bool Is(MessageType wanted) const { return type == static_cast<uint16_t>(wanted); }

  /// The body as this program knows it.
  template <typename Body>
  Body BodyAs() const {
    static_assert(std::is_trivially_copyable_v<Body>);
    Body known{};
    std::memcpy(static_cast<void*>(&known), body.data(),
                body.size() < sizeof known ? body.size() : sizeof known);
    return known;
  }
  /// The strings of the payload; always at least `count`. A damaged payload ends at the damage.
  std::vector<std::string> Strings(size_t count) const;
};

/// Encodes strings as a payload: each with its length (32 bits) in front.
std::string JoinStrings(const std::vector<std::string_view>& strings);

/// Encodes a whole packet. `body` may be empty.
std::string EncodePacket(MessageType type, std::string_view body, std::string_view payload);

/// Takes a packet apart. False, with `out` unspecified, when it is none of ours.
bool DecodePacket(std::string_view packet, Message& out);

template <typename Body>
std::string EncodeMessage(MessageType type, const Body& body,
                          const std::vector<std::string_view>& strings = {}) {
  static_assert(std::is_trivially_copyable_v<Body>);
  return EncodePacket(type, std::string_view(reinterpret_cast<const char*>(&body), sizeof body),
                      JoinStrings(strings));
}

}  // namespace bucketvol
