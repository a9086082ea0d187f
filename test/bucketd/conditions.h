#pragma once

#include "absl/strings/string_view.h"
#include "test/bucketd/bucket.h"
#include "test/bucketd/http_message.h"

namespace bucketvol::bucketd {

enum class Verdict { kGoOn, kNotModified, kFailed };

/// If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since of a read. An ETag condition outranks the
/// time condition of the same sense. ETags are compared without regard to case and quotes. `ignore_if_match`
/// passes If-Match.
Verdict CheckReadConditions(const HttpRequest& request, const ObjectMeta& meta, bool ignore_if_match);

/// True if `list` (the value of If-Match or If-None-Match) names `etag` or is "*".
bool EtagListContains(absl::string_view list, absl::string_view etag);

}  // namespace bucketvol::bucketd
