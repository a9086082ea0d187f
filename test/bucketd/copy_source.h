#pragma once

#include <string>

#include "test/bucketd/bucket.h"
#include "test/bucketd/call.h"
#include "test/bucketd/service_error.h"
#include "test/bucketd/staged_file.h"
#include "test/bucketd/writable_bucket.h"

namespace bucketvol::bucketd {

/// The object a copy reads from.
struct CopySource {
  std::string bucket;
  std::string key;
  OpenObject object;
};

/// Opens what x-oss-copy-source or x-amz-copy-source names (`[/]bucket/encoded-key[?versionId=…]`) and checks
/// the copy-source-if-… conditions.
Outcome<CopySource> OpenCopySource(const Call& call);

/// Copies `size` bytes at `offset` into a new file of `target`.
Outcome<StagedFile> CopyBytes(WritableBucket& target, BodySource& source, uint64_t offset, uint64_t size);

}  // namespace bucketvol::bucketd
