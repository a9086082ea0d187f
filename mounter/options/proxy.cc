#include "mounter/options/proxy.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "mounter/options/option_table.h"
#include "mounter/options/service_url.h"

namespace bucketvol {
namespace {

using Variables = std::map<std::string, std::string>;

/// The first of `names` that is set and not empty, with its value.
std::pair<std::string, std::string> FirstSet(const Variables& variables,
                                             const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto found = variables.find(name);
    if (found != variables.end() && !found->second.empty()) return *found;
  }
  return {};
}

bool OnThisMachine(const VolumeOptions& options) {
  const absl::StatusOr<ServiceUrl> url = ParseServiceUrl(options.url, options.source);
  if (!url.ok()) return false;
  const bool loopback = url->ip_address && (absl::StartsWith(url->host, "127.") || url->host == "::1");
  return loopback || url->host == "localhost" || absl::EndsWith(url->host, ".localhost");
}

absl::Status SetProxy(const std::string& variable, absl::string_view value, VolumeOptions& options,
                      Secret& credentials) {
  std::string scheme = "http://";
  const size_t colon = value.find("://");
  if (colon != absl::string_view::npos) {
    scheme = absl::AsciiStrToLower(value.substr(0, colon + 3));
    value.remove_prefix(colon + 3);
  }
  const size_t at = value.rfind('@');
  if (at != absl::string_view::npos) {
    credentials = Secret(std::string(value.substr(0, at)));
    value.remove_prefix(at + 1);
  }
  if (FindOption("proxy")->value.set(absl::StrCat(scheme, value), options)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "environment variable ", variable, " names no proxy of the form http://[USER:PASSWORD@]HOST[:PORT]"));
}

}  // namespace

absl::Status ApplyProxyEnvironment(const Variables& variables, VolumeOptions& options, Secret& credentials) {
  if (options.no_proxy.empty()) options.no_proxy = FirstSet(variables, {"no_proxy", "NO_PROXY"}).second;
  if (!options.proxy.empty() || OnThisMachine(options)) return absl::OkStatus();
  const bool tls = absl::StartsWith(options.url, "https://");
  const std::vector<std::string> names =
      tls ? std::vector<std::string>{"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}
          : std::vector<std::string>{"http_proxy", "all_proxy", "ALL_PROXY"};
  const auto [name, value] = FirstSet(variables, names);
  return value.empty() ? absl::OkStatus() : SetProxy(name, value, options, credentials);
}

Secret ProxyWithCredentials(const std::string& proxy, const Secret& credentials) {
  const size_t scheme_end = proxy.find("://");
  if (credentials.empty() || scheme_end == std::string::npos) return Secret(proxy);
  const absl::string_view whole = proxy;
  return Secret(
      absl::StrCat(whole.substr(0, scheme_end + 3), credentials.Reveal(), "@", whole.substr(scheme_end + 3)));
}

}  // namespace bucketvol
