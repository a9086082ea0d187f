#include "mounter/objstore/proxy_rules.h"

#include <arpa/inet.h>

#include <cstring>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace bucketvol {
namespace {

// The bytes of an address: 4 or 16.
std::optional<std::string> AddressBytes(absl::string_view text) {
  const std::string copy(text);
  unsigned char bytes[16];
  if (inet_pton(AF_INET, copy.c_str(), bytes) == 1) return std::string(reinterpret_cast<char*>(bytes), 4);
  if (inet_pton(AF_INET6, copy.c_str(), bytes) == 1) return std::string(reinterpret_cast<char*>(bytes), 16);
  return std::nullopt;
}

bool SharesBits(absl::string_view a, absl::string_view b, size_t bits) {
  if (a.size() != b.size() || bits > 8 * a.size()) return false;
  if (a.substr(0, bits / 8) != b.substr(0, bits / 8)) return false;
  if (bits % 8 == 0) return true;
  const int shift = 8 - static_cast<int>(bits % 8);
  return (static_cast<unsigned char>(a[bits / 8]) >> shift) ==
         (static_cast<unsigned char>(b[bits / 8]) >> shift);
}

// `network` is "ADDRESS/BITS".
bool InNetwork(absl::string_view host, absl::string_view network) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(network, absl::MaxSplits('/', 1));
  const std::optional<std::string> address = AddressBytes(host), base = AddressBytes(parts.first);
  size_t bits = 0;
  return address && base && absl::SimpleAtoi(parts.second, &bits) && SharesBits(*address, *base, bits);
}

bool IsLinkLocal(absl::string_view host) {
  // 100.100.100.200 is the metadata service of Alibaba Cloud; those of the others are link-local.
  return InNetwork(host, "169.254.0.0/16") || InNetwork(host, "fe80::/10") || host == "100.100.100.200" ||
         InNetwork(host, "fd00:ec2::254/128");
}

absl::string_view WithoutPort(absl::string_view entry) {
  if (absl::StartsWith(entry, "[")) return entry.substr(1, entry.find(']') - 1);
  const size_t colon = entry.find(':');
  const bool one_colon =
      colon != absl::string_view::npos && entry.find(':', colon + 1) == absl::string_view::npos;
  return one_colon ? entry.substr(0, colon) : entry;
}

bool EntryCovers(absl::string_view entry, absl::string_view host) {
  if (entry == "*") return true;
  if (absl::StrContains(entry, '/')) return InNetwork(host, entry);
  entry = WithoutPort(entry);
  const std::optional<std::string> address = AddressBytes(host);
  if (address) return AddressBytes(entry) == address;
  absl::ConsumePrefix(&entry, "*");
  absl::ConsumePrefix(&entry, ".");
  if (entry.empty() || !absl::EndsWithIgnoreCase(host, entry)) return false;
  return host.size() == entry.size() || host[host.size() - entry.size() - 1] == '.';
}

bool IsExcepted(absl::string_view list, absl::string_view host) {
  for (const absl::string_view entry : absl::StrSplit(list, absl::ByAnyChar(", \t"), absl::SkipEmpty())) {
    if (EntryCovers(entry, host)) return true;
  }
  return false;
}

}  // namespace

bool IsIpAddress(absl::string_view host) { return AddressBytes(host).has_value(); }

bool IsLoopback(absl::string_view host) {
  return absl::EqualsIgnoreCase(host, "localhost") || absl::EndsWithIgnoreCase(host, ".localhost") ||
         InNetwork(host, "127.0.0.0/8") || InNetwork(host, "::1/128");
}

std::string ProxyFor(const ProxySettings& settings, absl::string_view scheme, absl::string_view host) {
  if (settings.proxy == "none" || IsLinkLocal(host)) return "";
  if (IsExcepted(settings.no_proxy.empty() ? settings.env_no_proxy : settings.no_proxy, host)) return "";
  if (!settings.proxy.empty()) return settings.proxy;
  if (IsLoopback(host)) return "";
  return scheme == "https" ? settings.env_https_proxy : settings.env_http_proxy;
}

const std::string& LatestProxy::For(const ProxySettings& settings, absl::string_view scheme,
                                    absl::string_view host) {
  if (scheme_.empty() || host != host_ || scheme != scheme_) {
    proxy_ = ProxyFor(settings, scheme, host);
    scheme_ = std::string(scheme);
    host_ = std::string(host);
  }
  return proxy_;
}

std::string DescribeProxy(absl::string_view proxy) {
  const size_t scheme_end = proxy.find("://");
  const absl::string_view scheme =
      scheme_end == absl::string_view::npos ? "" : proxy.substr(0, scheme_end + 3);
  absl::string_view rest = proxy.substr(scheme.size());
  const size_t at = rest.rfind('@');
  if (at != absl::string_view::npos) rest.remove_prefix(at + 1);
  return absl::StrCat(scheme, rest);
}

}  // namespace bucketvol
