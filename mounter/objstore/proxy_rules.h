#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace bucketvol {

/// What is known of proxies. The environment is given by whoever reads it (main).
struct ProxySettings {
  std::string
      proxy;  // "" : by the environment; "none": no proxy; else a URL, which may hold a user and a password.
  std::string no_proxy;  // Hosts to reach directly; replaces the environment's list when not empty.
  std::string env_http_proxy;
  std::string env_https_proxy;
  std::string env_no_proxy;
};

/// The proxy for a request to `host` (without port and brackets) with `scheme` "http" or "https"; empty: go
/// directly.
///
/// The list of exceptions is separated by commas or spaces: "*", host names (which cover their subdomains; a
/// leading dot or
/// "*." changes nothing), IP addresses, and networks "10.0.0.0/8". An entry's port is ignored. Link-local
/// addresses (those of metadata services too) never go through a proxy; loopback ones only through one that
/// was asked for explicitly.
std::string ProxyFor(const ProxySettings& settings, absl::string_view scheme, absl::string_view host);

/// Remembers the latest answer of ProxyFor, which takes longer than to see that the question is the same.
/// Not thread-safe.
class LatestProxy {
 public:
  /// `settings` are the same in every call.
  const std::string& For(const ProxySettings& settings, absl::string_view scheme, absl::string_view host);

 private:
  std::string scheme_, host_, proxy_;
};

/// The proxy's URL without user and password, for messages.
std::string DescribeProxy(absl::string_view proxy);

/// Whether `host` is an IP address of either version (without brackets).
bool IsIpAddress(absl::string_view host);
/// Whether `host` is localhost or an address of the machine itself.
bool IsLoopback(absl::string_view host);

}  // namespace bucketvol
