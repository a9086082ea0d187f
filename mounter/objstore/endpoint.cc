#include "mounter/objstore/endpoint.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "mounter/base/log.h"
#include "mounter/objstore/proxy_rules.h"
#include "mounter/objstore/uri_encoding.h"

namespace bucketvol {
namespace {

absl::Status BadUrl(absl::string_view why, absl::string_view url) {
  return absl::InvalidArgumentError(absl::StrCat("url= must be http://HOST[:PORT] or https://HOST[:PORT]; ",
                                                 why, ": ", Printable(url, 128)));
}

bool IsHostName(absl::string_view host) {
  for (const char c : host) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.' && c != '_') return false;
  }
  return !host.empty();
}

bool UsesPath(const Endpoint& endpoint, absl::string_view bucket, Addressing addressing) {
  switch (addressing) {
    case Addressing::kPath:
      return true;
    case Addressing::kVirtualHost:
      return false;
    case Addressing::kAuto:
      break;
  }
  if (IsIpAddress(endpoint.host) || IsLoopback(endpoint.host)) return true;
  return endpoint.scheme == "https" && absl::StrContains(bucket, '.');
}

}  // namespace

std::string Endpoint::Authority() const {
  const bool own_port = port == 0 || port == (scheme == "https" ? 443 : 80);
  const std::string name = absl::StrContains(host, ':') ? absl::StrCat("[", host, "]") : host;
  return own_port ? name : absl::StrCat(name, ":", port);
}

absl::StatusOr<Endpoint> ParseEndpoint(absl::string_view url) {
  Endpoint endpoint;
  absl::string_view rest = url;
  if (absl::ConsumePrefix(&rest, "https://")) {
    endpoint.scheme = "https";
  } else if (absl::ConsumePrefix(&rest, "http://")) {
    endpoint.scheme = "http";
  } else {
    return BadUrl("the scheme is missing", url);
  }
  absl::ConsumeSuffix(&rest, "/");
  if (absl::StrContains(rest, '@')) return BadUrl("it must hold no user name", "(not shown)");
  if (absl::StrContains(rest, '/')) return BadUrl("the bucket and path belong into the source", url);
  absl::string_view host = rest, port;
  if (absl::ConsumePrefix(&host, "[")) {
    const size_t bracket = host.find(']');
    if (bracket == absl::string_view::npos) return BadUrl("a bracket is missing", url);
    port = host.substr(bracket + 1);
    host = host.substr(0, bracket);
    if (!IsIpAddress(host)) return BadUrl("the address is not valid", url);
  } else {
    port = host.substr(std::min(host.find(':'), host.size()));
    host.remove_suffix(port.size());
    if (!IsHostName(host)) return BadUrl("the host name is not valid", url);
  }
  if (absl::ConsumePrefix(&port, ":")) {
    if (!absl::SimpleAtoi(port, &endpoint.port) || endpoint.port < 1 || endpoint.port > 65535) {
      return BadUrl("the port is not valid", url);
    }
  } else if (!port.empty()) {
    return BadUrl("the port is not valid", url);
  }
  endpoint.host = absl::AsciiStrToLower(host);
  return endpoint;
}

Endpoint WithoutBucket(Endpoint endpoint, absl::string_view bucket) {
  absl::string_view rest = endpoint.host;
  if (!absl::ConsumePrefix(&rest, bucket) || !absl::ConsumePrefix(&rest, ".")) return endpoint;
  // A bucket may be named like the service, so the rest must still look like one.
  for (const char* service : {"oss-", "oss.", "s3.", "s3-"}) {
    if (!absl::StartsWith(rest, service)) continue;
    endpoint.host = std::string(rest);
    return endpoint;
  }
  return endpoint;
}

RequestAddress AddressOf(const Endpoint& endpoint, absl::string_view bucket, absl::string_view key,
                         Addressing addressing) {
  if (UsesPath(endpoint, bucket, addressing)) {
    return {endpoint.Authority(), absl::StrCat("/", bucket, "/", EncodePath(key))};
  }
  return {absl::StrCat(bucket, ".", endpoint.Authority()), absl::StrCat("/", EncodePath(key))};
}

std::optional<std::string> RegionOfHost(absl::string_view host) {
  absl::string_view rest = host;
  if (absl::ConsumePrefix(&rest, "oss-") && absl::ConsumeSuffix(&rest, ".aliyuncs.com")) {
    absl::ConsumeSuffix(&rest, "-internal");
    if (rest.empty() || absl::StrContains(rest, '.') || absl::StartsWith(rest, "accelerate"))
      return std::nullopt;
    return std::string(rest);
  }
  rest = host;
  if (absl::ConsumeSuffix(&rest, ".oss.aliyuncs.com")) return std::string(rest);  // Dual stack.
  rest = host;
  if (!absl::ConsumeSuffix(&rest, ".amazonaws.com") && !absl::ConsumeSuffix(&rest, ".amazonaws.com.cn"))
    return std::nullopt;
  if (!absl::ConsumePrefix(&rest, "s3.dualstack.") && !absl::ConsumePrefix(&rest, "s3.") &&
      !absl::ConsumePrefix(&rest, "s3-")) {
    return std::nullopt;
  }
  if (rest.empty() || absl::StrContains(rest, '.') || absl::StartsWith(rest, "accelerate"))
    return std::nullopt;
  return std::string(rest);
}

std::optional<std::string> HostInRegion(absl::string_view host, absl::string_view region) {
  if (host == "s3.amazonaws.com") return absl::StrCat("s3.", region, ".amazonaws.com");
  const std::optional<std::string> named = RegionOfHost(host);
  if (!named) return std::nullopt;
  return absl::StrReplaceAll(host, {{*named, region}});
}

}  // namespace bucketvol
