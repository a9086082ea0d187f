#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "test/bucketd/api_request.h"
#include "test/bucketd/http_message.h"
#include "test/bucketd/service_error.h"

namespace bucketvol::bucketd {

/// The error document of the dialect, with the id of the request. HEAD gets no body; OSS puts the document's
/// base64 into x-oss-err instead.
Reply MakeErrorReply(const ServiceError& error, const ApiRequest& request, absl::string_view request_id);

/// The `<Error>` document alone: also the body of a 200 that carries an error.
std::string ErrorDocument(const ServiceError& error, const ApiRequest& request, absl::string_view request_id);

}  // namespace bucketvol::bucketd
