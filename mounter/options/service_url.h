#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// Where a service listens, taken apart.
struct ServiceUrl {
  bool tls = true;
  std::string host;         // Lower case; an IPv6 address without brackets.
  bool ip_address = false;  // The host is an IPv4 or IPv6 address.
  uint16_t port = 443;

  /// "https://host:443", an IPv6 address in brackets.
  std::string ToUrl() const;
};

/// Parses "host", "host:port", "http://host[:port][/]", "[IPv6]:port".
///
/// Without a scheme, a name that ends in "-internal.aliyuncs.com" gets http, any other https (the rule of the
/// Alibaba Cloud CSI driver). Refused, with the reason and the corrected value where there is one: a path, a
/// user name (which is not repeated in the message), a query, another scheme, and a host or path that already
/// holds the bucket. A host that begins with the name of the bucket holds it for OSS; for S3 only below
/// amazonaws.com and aliyuncs.com, since elsewhere a server may share its name with a bucket
/// (minio.storage.svc.cluster.local).
absl::StatusOr<ServiceUrl> ParseServiceUrl(absl::string_view url, const Source& source);

/// The region that a public host name of Alibaba OSS or Amazon S3 tells; empty for any other, and for
/// acceleration endpoints, which serve every region.
std::string RegionToldBy(absl::string_view host);

/// Decides how the bucket is addressed where the user did not.
///
/// Path style for IP addresses, localhost and names without a dot; for a bucket that is no DNS label under
/// TLS (the wildcard certificate covers one label); and for S3 services that are neither Amazon's nor
/// Alibaba's, as boto3 does for a custom endpoint. The bucket in the host name otherwise: the only form the
/// public OSS takes.
AddressingStyle DecideAddressing(const ServiceUrl& endpoint, const Source& source);

}  // namespace bucketvol
