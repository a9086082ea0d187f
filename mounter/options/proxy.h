#pragma once

#include <map>
#include <string>

#include "absl/status/status.h"
#include "mounter/base/secret.h"
#include "mounter/options/volume_options.h"

namespace bucketvol {

/// Fills in the proxy and the bypass list that no option named, from the variables other programs know:
/// https_proxy for an https endpoint, http_proxy for an http one (lower case only, as curl reads it:
/// HTTP_PROXY can be set by a request in a CGI), else all_proxy; and no_proxy. The first three but
/// http_proxy, and no_proxy, are found in upper case too. The environment's proxy is not for an endpoint on
/// this machine.
///
/// A user name and password in the variable go to `credentials` ("user:password", encoded as in the
/// variable), never into `options`. InvalidArgument, naming the variable only, if it is no http proxy.
absl::Status ApplyProxyEnvironment(const std::map<std::string, std::string>& variables,
                                   VolumeOptions& options, Secret& credentials);

/// Puts the credentials back into the proxy's url, for whoever connects to it.
Secret ProxyWithCredentials(const std::string& proxy, const Secret& credentials);

}  // namespace bucketvol
