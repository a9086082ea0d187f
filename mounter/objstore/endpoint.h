#pragma once

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bucketvol {

enum class Addressing { kAuto, kPath, kVirtualHost };

/// Where a service answers.
struct Endpoint {
  std::string scheme;  // "http" or "https".
  std::string host;    // Lower case; an IPv6 address without brackets.
  int port = 0;        // 0: the scheme's own.

  /// "host", "host:port" or "[address]:port", as a Host header wants it.
  std::string Authority() const;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// Parses "http://HOST[:PORT][/]" or "https://…". The message of an error says what is wrong with url=.
absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view url);

/// Takes the bucket off the front of a host like "bucket.oss-cn-hangzhou.aliyuncs.com", which is a frequent
/// mistake.
Endpoint WithoutBucket(Endpoint endpoint, absl::string_view bucket);

/// Where one key is reached.
struct RequestAddress {
  std::string host;  // For the Host header.
  std::string path;  // Encoded, with the bucket in path style.
};

/// kAuto puts the bucket into the path for IP addresses, for localhost, and for names with dots over TLS
/// (which no wildcard certificate covers); else into the host.
RequestAddress AddressOf(const Endpoint& endpoint, absl::string_view bucket, absl::string_view key,
                         Addressing addressing);

/// The region that an endpoint of Alibaba Cloud ("oss-cn-hangzhou[-internal].aliyuncs.com") or AWS
/// ("s3.eu-west-1.…") names.
std::optional<std::string> RegionOfHost(absl::string_view host);

/// The host of the same service in another region, where the host names its region; nullopt where it does
/// not.
std::optional<std::string> HostInRegion(absl::string_view host, absl::string_view region);

}  // namespace bucketvol
