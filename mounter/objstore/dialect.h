#pragma once

#include "absl/strings/string_view.h"

namespace bucketvol {

/// Whose words a service speaks.
enum class Dialect { kOss, kS3 };

/// "oss://" or "s3://": how messages name buckets and keys.
inline absl::string_view UrlScheme(Dialect dialect) {
  switch (dialect) {
    case Dialect::kOss:
      return "oss://";
    case Dialect::kS3:
      return "s3://";
  }
  return "";
}

}  // namespace bucketvol
