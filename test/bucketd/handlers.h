#pragma once

#include "test/bucketd/call.h"

namespace bucketvol::bucketd {

using Handler = Outcome<Reply> (*)(Call&);

/// The handler of an operation; one that refuses, for operations that are not served.
Handler HandlerOf(Operation operation);

}  // namespace bucketvol::bucketd
