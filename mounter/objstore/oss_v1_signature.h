#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "mounter/base/secret.h"
#include "mounter/objstore/signer.h"

namespace bucketvol {

/// The signature of OSS version 1, in base64. `date` is the Date header, or the expiry of a pre-signed URL in
/// Unix seconds.
std::string OssV1Signature(const SignableRequest& request, absl::string_view date, const Secret& secret);

}  // namespace bucketvol
