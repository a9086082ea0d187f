#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace bucketvol {

enum class Provider { kOss, kS3 };
enum class SignatureVersion { kOssV1, kOssV4, kSigV4 };
enum class AddressingStyle { kAuto, kPath, kVirtualHost };
enum class VolumeKind { kImage, kFuse };
enum class IndexFs { kAuto, kErofs, kExt4 };
enum class TransportKind { kAuto, kLoop, kFile };

struct ResourceLimit {
  uint32_t milli_cpus = 0;  // Thousandths of a core.
  uint64_t memory_bytes = 0;

  friend bool operator==(const ResourceLimit&, const ResourceLimit&) = default;
};

/// Where a volume's keys come from.
struct Source {
  Provider provider = Provider::kOss;
  std::string bucket;
  std::string prefix;  // "" for the whole bucket, else ends in "/" and does not begin with one.

  /// "oss://bucket/path", as the user wrote it but for slashes that say nothing.
  std::string ToString() const;
  friend bool operator==(const Source&, const Source&) = default;
};

/// Everything a volume may be told, parsed and checked. Made by ParseVolumeOptions only; holds no secrets.
///
/// Every field is written and read by a row of the option table (option_table.h): the defaults below are the
/// ones that `--help` and docs/options.md show.
struct VolumeOptions {
  Source source;
  VolumeKind kind = VolumeKind::kImage;

  // The endpoint.
  std::string url;     // scheme://host[:port], scheme and port always present once parsed.
  std::string region;  // Derived from the url where it tells; "us-east-1" for other S3 endpoints; may stay
                       // empty for V1.
  SignatureVersion signature = SignatureVersion::kOssV4;
  AddressingStyle addressing =
      AddressingStyle::kAuto;  // Decided by ParseVolumeOptions: never kAuto afterwards.
  std::string ca_file;         // Extra certificates; empty: the system's.
  bool check_certificate = true;
  std::string proxy;  // http://host:port, no user name in it; empty: from the environment; "none": no proxy.
  std::string no_proxy;
  bool list_objects_v1 = false;  // For services that do not know list-type=2.

  // Credentials: which source; the secrets themselves travel apart.
  bool anonymous = false;
  std::string passwd_file;
  std::string profile;

  // What is shown.
  uint32_t umask = 0022;
  uint32_t uid = 0;
  uint32_t gid = 0;
  bool read_only = false;  // Always true for an image.
  bool allow_other = true;
  IndexFs index_fs = IndexFs::kAuto;
  TransportKind transport = TransportKind::kAuto;
  bool allow_empty = false;
  bool direct_mode = false;
  std::string prefetch_order;  // Path below the source of a file that lists paths; empty: none.

  // Work and limits.
  int list_streams = 0;     // 0: adaptive, 16…128.
  double request_rate = 0;  // Requests per second; 0: no limit.
  absl::Duration index_max_age = absl::ZeroDuration();
  absl::Duration connect_timeout = absl::Seconds(5);
  absl::Duration request_timeout = absl::Seconds(110);  // For one kernel request, retries included.
  std::optional<ResourceLimit> resource_limit;
  uint64_t memory_budget = 0;       // For data, in bytes; 0: from resource_limit, the cgroup or the machine.
  uint64_t node_memory_budget = 0;  // Of all mounts of the node; 0: half of the machine or the cgroup.
  uint64_t node_memory_limit = 0;   // Of the cgroup of all workers of the node; 0: as it is.
  std::string state_dir = "/var/lib/bucketvol";
  std::string run_dir = "/run/bucketvol";
  std::string log_level = "info";  // debug, info, warning or error.

  std::vector<std::string> warnings;  // One line each, for stderr and the log: words accepted without effect.

  friend bool operator==(const VolumeOptions&, const VolumeOptions&) = default;
};

}  // namespace bucketvol
