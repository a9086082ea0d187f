#include "test/bucketd/handlers.h"

#include <utility>

namespace bucketvol::bucketd {
namespace {

Outcome<Reply> Refuse(Call&) { return ErrorKind::kNotImplemented; }
Outcome<Reply> RefuseMethod(Call&) { return ErrorKind::kMethodNotAllowed; }

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
    {Operation::kPutObject, PutObject},
    {Operation::kCopyObject, CopyObject},
    {Operation::kAppend, AppendObject},
    {Operation::kPutSymlink, PutSymlink},
    {Operation::kGetSymlink, GetSymlink},
    {Operation::kDeleteObject, DeleteObject},
    {Operation::kBatchDelete, DeleteBatch},
    {Operation::kInitiateUpload, InitiateUpload},
    {Operation::kUploadPart, PutPart},
    {Operation::kCopyPart, CopyPart},
    {Operation::kCompleteUpload, CompleteUpload},
    {Operation::kAbortUpload, AbortUpload},
    {Operation::kListParts, ListParts},
    {Operation::kListUploads, ListUploads},
    {Operation::kBucketInfo, GetBucketInfo},
    {Operation::kBucketStat, GetBucketStat},
    {Operation::kBucketVersioning, GetVersioning},
    {Operation::kBucketAcl, GetAcl},
    {Operation::kObjectAcl, GetAcl},
    {Operation::kPutBucketSetting, AcceptSetting},
    {Operation::kPutObjectAcl, AcceptSetting},
    {Operation::kGetTagging, GetTagging},
    {Operation::kPutTagging, PutTagging},
    {Operation::kDeleteTagging, DeleteTagging},
    {Operation::kCreateBucket, CreateBucket},
    {Operation::kDeleteBucket, DeleteBucket},
    {Operation::kWrongMethod, RefuseMethod},
};

}  // namespace

Handler HandlerOf(Operation operation) {
  for (const auto& [candidate, handler] : kHandlers) {
    if (candidate == operation) return handler;
  }
  return Refuse;
}

}  // namespace bucketvol::bucketd
