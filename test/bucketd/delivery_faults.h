#pragma once

#include <optional>

#include "test/bucketd/api_request.h"
#include "test/bucketd/fault.h"
#include "test/bucketd/http_message.h"
#include "test/bucketd/list_xml.h"
#include "test/bucketd/service_error.h"

namespace bucketvol::bucketd {

/// The error that the fault answers with, if it is one of those.
std::optional<ErrorKind> ErrorOf(FaultKind kind);

/// What the fault does to a page of a listing.
ListDamage DamageOf(FaultKind kind);

/// Spoils a good reply: its headers, its body, or its way over the wire.
void ApplyFault(const Fault& fault, const ApiRequest& request, Reply& reply);

}  // namespace bucketvol::bucketd
