#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "mounter/options/parse_options.h"
#include "mounter/options/source.h"

namespace bucketvol::testing {

inline constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
inline constexpr char kUrl[] = "url=oss-cn-hangzhou-internal.aliyuncs.com";

/// As when somebody types in a shell.
inline OptionContext Shell() {
  OptionContext context;
  context.working_directory = "/home/user";
  context.home = "/home/me";
  return context;
}

/// As `bucketvol mount SOURCE … -o LIST`, with a url in front.
inline absl::StatusOr<VolumeOptions> Typed(const std::string& list, const char* source = "oss://b/p",
                                           const OptionContext& context = Shell()) {
  const std::string words = list.empty() ? kUrl : std::string(kUrl) + "," + list;
  return ParseVolumeOptions(*ParseSource(source), ParseDashO(words), context);
}

/// The same without a url.
inline absl::StatusOr<VolumeOptions> Bare(const std::string& list, const char* source = "oss://b/p") {
  return ParseVolumeOptions(*ParseSource(source), ParseDashO(list), Shell());
}

}  // namespace bucketvol::testing
