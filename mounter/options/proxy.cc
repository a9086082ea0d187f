#include "mounter/options/proxy.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "mounter/options/option_table.h"

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

std::string DecodePercent(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const absl::string_view digits = text.substr(i).substr(0, 3);
    unsigned value = 0;
    if (digits.size() == 3 && digits[0] == '%' && absl::SimpleHexAtoi(digits.substr(1), &value)) {
      out.push_back(static_cast<char>(value));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
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
    credentials = Secret(DecodePercent(value.substr(0, at)));
    value.remove_prefix(at + 1);
  }
  if (FindOption("proxy")->value.set(absl::StrCat(scheme, value), options)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "environment variable ", variable, " names no proxy of the form http://[USER:PASSWORD@]HOST[:PORT]"));
}

}  // namespace

absl::Status ApplyProxyEnvironment(const Variables& variables, VolumeOptions& options, Secret& credentials) {
  if (options.no_proxy.empty()) options.no_proxy = FirstSet(variables, {"no_proxy", "NO_PROXY"}).second;
  if (!options.proxy.empty()) return absl::OkStatus();
  const bool tls = absl::StartsWith(options.url, "https://");
  const std::vector<std::string> names =
      tls ? std::vector<std::string>{"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}
          : std::vector<std::string>{"http_proxy", "all_proxy", "ALL_PROXY"};
  const auto [name, value] = FirstSet(variables, names);
  return value.empty() ? absl::OkStatus() : SetProxy(name, value, options, credentials);
}

}  // namespace bucketvol
