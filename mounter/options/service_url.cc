#include "mounter/options/service_url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/options/option_value.h"

namespace bucketvol {
namespace {

constexpr absl::string_view kAliyun = ".aliyuncs.com";
constexpr absl::string_view kDataAccelerator = ".oss-data-acc.aliyuncs.com";
constexpr absl::string_view kDualStackOss = ".oss.aliyuncs.com";
constexpr size_t kMaxHostLength = 253;
constexpr size_t kMinPartsOfBucketDomain = 4;  // bucket.endpoint.aliyuncs.com

absl::Status Refuse(absl::string_view problem, absl::string_view url) {
  return absl::InvalidArgumentError(absl::StrCat(problem, ": \"", Printable(url, 128), "\""));
}

bool IsAddress(int family, const std::string& host) {
  unsigned char address[sizeof(in6_addr)];
  return inet_pton(family, host.c_str(), address) == 1;
}

bool IsHostLabel(absl::string_view label) {
  constexpr size_t kMaxLabel = 63;
  if (label.empty() || label.size() > kMaxLabel || label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  });
}

bool LooksLikeIpv4(absl::string_view host) {
  return host.find_first_not_of("0123456789.") == absl::string_view::npos;
}

bool IsHostName(absl::string_view host) {
  if (host.empty() || host.size() > kMaxHostLength || LooksLikeIpv4(host)) return false;
  for (absl::string_view label : absl::StrSplit(host, '.')) {
    if (!IsHostLabel(label)) return false;
  }
  return true;
}

/// Takes the scheme off the front of `rest`; decides by the name where there is none.
absl::StatusOr<bool> TakeScheme(absl::string_view url, absl::string_view& rest) {
  const size_t colon = url.find("://");
  if (colon == absl::string_view::npos) {
    rest = url;
    absl::string_view host = url;
    while (absl::ConsumeSuffix(&host, "/")) {
    }
    return !absl::EndsWithIgnoreCase(host, "-internal.aliyuncs.com");
  }
  rest = url.substr(colon + 3);
  const absl::string_view scheme = url.substr(0, colon);
  if (absl::EqualsIgnoreCase(scheme, "https")) return true;
  if (absl::EqualsIgnoreCase(scheme, "http")) return false;
  return Refuse("url has a scheme other than http and https", scheme);
}

absl::Status SetPort(absl::string_view text, absl::string_view url, ServiceUrl& endpoint) {
  const std::optional<uint64_t> port = ParseInteger(text, 1, 65535);
  if (!port.has_value()) return Refuse("url has a port that is no number from 1 to 65535", url);
  endpoint.port = static_cast<uint16_t>(*port);
  return absl::OkStatus();
}

absl::Status ParseBracketedHost(absl::string_view authority, absl::string_view url, ServiceUrl& endpoint) {
  const size_t close = authority.find(']');
  endpoint.host =
      absl::AsciiStrToLower(authority.substr(1, close == absl::string_view::npos ? close : close - 1));
  endpoint.ip_address = true;
  if (close == absl::string_view::npos || !IsAddress(AF_INET6, endpoint.host)) {
    return Refuse("url has no IPv6 address between the brackets", url);
  }
  absl::string_view rest = authority.substr(close + 1);
  if (rest.empty()) return absl::OkStatus();
  if (!absl::ConsumePrefix(&rest, ":"))
    return Refuse("url has a port that is no number from 1 to 65535", url);
  return SetPort(rest, url, endpoint);
}

absl::Status ParseAuthority(absl::string_view authority, absl::string_view url, ServiceUrl& endpoint) {
  if (absl::StartsWith(authority, "[")) return ParseBracketedHost(authority, url, endpoint);
  if (IsAddress(AF_INET6, std::string(authority))) {
    return Refuse("url has an IPv6 address without brackets", absl::StrCat("[", authority, "]"));
  }
  const size_t colon = authority.find(':');
  endpoint.host = absl::AsciiStrToLower(authority.substr(0, colon));
  endpoint.ip_address = IsAddress(AF_INET, endpoint.host);
  if (!endpoint.ip_address && !IsHostName(endpoint.host)) return Refuse("url has no valid host name", url);
  if (colon == absl::string_view::npos) return absl::OkStatus();
  return SetPort(authority.substr(colon + 1), url, endpoint);
}

bool EndsWithRegionLabel(absl::string_view host, absl::string_view suffix) {
  return absl::ConsumeSuffix(&host, suffix) && !host.empty() && host.find('.') == absl::string_view::npos;
}

/// Whether `host` is a name under which OSS itself answers, without any bucket.
bool IsOssEndpoint(absl::string_view host) {
  if (!absl::EndsWith(host, kAliyun)) return false;
  if (EndsWithRegionLabel(host, kDataAccelerator) || EndsWithRegionLabel(host, kDualStackOss)) return true;
  absl::ConsumePrefix(&host, "s3.");
  absl::ConsumePrefix(&host, "vpc100-");
  return absl::StartsWith(host, "oss-") && EndsWithRegionLabel(host, kAliyun);
}

bool IsPublicCloud(absl::string_view host) {
  absl::ConsumeSuffix(&host, ".cn");
  return absl::EndsWith(host, kAliyun) || absl::EndsWith(host, ".amazonaws.com");
}

/// The host without the bucket it begins with; empty if it does not.
std::string HostWithoutBucket(absl::string_view host, const Source& source) {
  if (IsOssEndpoint(host) || !RegionToldBy(host).empty()) return "";
  const size_t dot = host.find('.');
  if (dot != absl::string_view::npos && IsOssEndpoint(host.substr(dot + 1)))
    return std::string(host.substr(dot + 1));
  const size_t parts = static_cast<size_t>(std::count(host.begin(), host.end(), '.')) + 1;
  if (source.bucket.empty() || parts < kMinPartsOfBucketDomain) return "";
  if (source.provider == Provider::kS3 && !IsPublicCloud(host)) return "";
  absl::string_view rest = host;
  const bool begins = absl::ConsumePrefix(&rest, absl::StrCat(absl::AsciiStrToLower(source.bucket), "."));
  return begins ? std::string(rest) : "";
}

absl::Status RefuseBucketDomain(const ServiceUrl& endpoint, const Source& source) {
  if (endpoint.ip_address) return absl::OkStatus();
  const std::string corrected = HostWithoutBucket(endpoint.host, source);
  if (corrected.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("url already holds the bucket: \"", endpoint.host,
                                                 "\"; write the endpoint alone: url=", corrected));
}

absl::Status RefusePath(absl::string_view path, absl::string_view authority, absl::string_view bucket) {
  const std::vector<absl::string_view> segments = absl::StrSplit(path, '/', absl::SkipEmpty());
  if (segments.empty()) return absl::OkStatus();
  if (segments[0] == bucket) {
    return absl::InvalidArgumentError(absl::StrCat("url already holds the bucket: \"",
                                                   Printable(authority, 128), "/", bucket,
                                                   "\"; write the endpoint alone: url=", authority));
  }
  return Refuse("url holds a path; the directory belongs into the source or path=",
                absl::StrCat(authority, path));
}

/// The label before the first dot, after `prefix`; empty if the rest is not `.suffix`.
std::string RegionBetween(absl::string_view host, absl::string_view prefix, absl::string_view suffix) {
  if (!absl::ConsumePrefix(&host, prefix) || !absl::ConsumeSuffix(&host, suffix)) return "";
  absl::ConsumeSuffix(&host, "-internal");
  const bool one_label = !host.empty() && host.find('.') == absl::string_view::npos;
  return one_label && !absl::StartsWith(host, "accelerate") ? std::string(host) : "";
}

std::string RegionOfOssHost(absl::string_view host) {
  if (!absl::EndsWith(host, kAliyun)) return "";
  for (const absl::string_view prefix : {"oss-", "vpc100-oss-", "s3.oss-"}) {
    if (std::string region = RegionBetween(host, prefix, kAliyun); !region.empty()) return region;
  }
  const std::string region = RegionBetween(host, "", kDataAccelerator);
  return region.empty() ? RegionBetween(host, "", kDualStackOss) : region;
}

std::string RegionOfAmazonHost(absl::string_view host) {
  absl::ConsumeSuffix(&host, ".cn");
  if (host == "s3.amazonaws.com") return "us-east-1";
  for (const absl::string_view prefix : {"s3.dualstack.", "s3-fips.dualstack.", "s3-fips.", "s3.", "s3-"}) {
    if (std::string region = RegionBetween(host, prefix, ".amazonaws.com"); !region.empty()) return region;
  }
  absl::string_view name = host;  // bucket.vpce-ID.s3.REGION.vpce.amazonaws.com
  const size_t service = name.find(".s3.");
  if (!absl::ConsumeSuffix(&name, ".vpce.amazonaws.com") || service == absl::string_view::npos) return "";
  return RegionBetween(absl::StrCat(name.substr(service + 1), ".end"), "s3.", ".end");
}

}  // namespace

std::string ServiceUrl::ToUrl() const {
  const bool brackets = host.find(':') != std::string::npos;
  return absl::StrCat(tls ? "https://" : "http://", brackets ? "[" : "", host, brackets ? "]" : "", ":",
                      port);
}

absl::StatusOr<ServiceUrl> ParseServiceUrl(absl::string_view url, const Source& source) {
  if (url.find('@') != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        "url holds a user name or password; credentials are given by passwd_file= "
        "or the environment");
  }
  if (url.find_first_of("?#") != absl::string_view::npos) return Refuse("url holds a query or fragment", url);
  ServiceUrl endpoint;
  absl::string_view rest;
  ASSIGN_OR_RETURN(endpoint.tls, TakeScheme(url, rest));
  endpoint.port = endpoint.tls ? 443 : 80;
  const absl::string_view authority = rest.substr(0, rest.find('/'));
  RETURN_IF_ERROR(ParseAuthority(authority, url, endpoint));
  RETURN_IF_ERROR(RefuseBucketDomain(endpoint, source));
  RETURN_IF_ERROR(RefusePath(rest.substr(authority.size()), authority, source.bucket));
  return endpoint;
}

std::string RegionToldBy(absl::string_view host) {
  std::string region = RegionOfOssHost(host);
  return region.empty() ? RegionOfAmazonHost(host) : region;
}

AddressingStyle DecideAddressing(const ServiceUrl& endpoint, const Source& source) {
  const bool has_dot = endpoint.host.find('.') != std::string::npos;
  const bool bucket_is_label = IsHostLabel(source.bucket) && source.bucket.find('_') == std::string::npos &&
                               source.bucket == absl::AsciiStrToLower(source.bucket);
  if (endpoint.ip_address || !has_dot) return AddressingStyle::kPath;
  if (source.provider == Provider::kOss) return AddressingStyle::kVirtualHost;
  if (!bucket_is_label || !IsPublicCloud(endpoint.host)) return AddressingStyle::kPath;
  return AddressingStyle::kVirtualHost;
}

}  // namespace bucketvol
