#include "test/bucketd/handlers.h"

#include <utility>

namespace bucketvol::bucketd {
namespace {

Outcome<Reply> Refuse(Call&) { return ErrorKind::kNotImplemented; }

constexpr std::pair<Operation, Handler> kHandlers[] = {
    {Operation::kListBuckets, ListBuckets},
    {Operation::kHeadBucket, HeadBucket},
    {Operation::kBucketLocation, GetBucketLocation},
    {Operation::kListObjects, ListObjects},
    {Operation::kListObjectsV2, ListObjects},
    {Operation::kListVersions, ListObjects},
    {Operation::kGetObject, GetObject},
    {Operation::kHeadObject, HeadObject},
    {Operation::kObjectMeta, GetObjectMeta},
};

}  // namespace

Handler HandlerOf(Operation operation) {
  for (const auto& [candidate, handler] : kHandlers) {
    if (candidate == operation) return handler;
  }
  return Refuse;
}

}  // namespace bucketvol::bucketd
