#pragma once

#include <optional>

#include "test/bucketd/api_request.h"
#include "test/bucketd/bucket.h"
#include "test/bucketd/service_error.h"
#include "test/bucketd/writable_bucket.h"

namespace bucketvol::bucketd {

/// The part of an object's meta that its writer gives in headers: content-type and its like, user metadata,
/// storage class.
ObjectMeta MetaFromHeaders(const ApiRequest& request);

/// x-oss-forbid-overwrite, If-None-Match: *, If-Match of a write.
WriteCondition WriteConditionOf(const ApiRequest& request);

/// Refuses keys that the service refuses: too long; on OSS also a leading '/' or '\'.
std::optional<ServiceError> CheckKey(const ApiRequest& request);

}  // namespace bucketvol::bucketd
