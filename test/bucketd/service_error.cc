#include "test/bucketd/service_error.h"

#include <algorithm>
#include <iterator>

namespace bucketvol::bucketd {
namespace {

struct Row {
  ErrorKind kind;
  ErrorWords oss;
  ErrorWords s3;
};

// The words are those of the services' error pages; where one has no such error it uses the nearest of its own.
constexpr Row kRows[] = {
    {ErrorKind::kAccessDenied, {403, "AccessDenied", "You have no right to access this object.", "0003-00000001"}, {403, "AccessDenied", "Access Denied", ""}},
    {ErrorKind::kAnonymousDenied, {403, "AccessDenied", "You have no right to access this object because of bucket acl.", "0003-00000001"}, {403, "AccessDenied", "Access Denied", ""}},
    {ErrorKind::kInvalidAccessKey, {403, "InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist in our records.", "0002-00000902"}, {403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.", ""}},
    {ErrorKind::kSignatureMismatch, {403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your key and signing method.", "0002-00000040"}, {403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided. Check your key and signing method.", ""}},
    {ErrorKind::kMalformedAuthorization, {400, "InvalidArgument", "Authorization header is invalid.", "0002-00000209"}, {400, "AuthorizationHeaderMalformed", "The authorization header is malformed.", ""}},
    {ErrorKind::kWrongRegion, {403, "AccessDenied", "The bucket you are attempting to access must be addressed using the specified region.", "0003-00001403"}, {400, "AuthorizationHeaderMalformed", "The authorization header is malformed; the region is wrong.", ""}},
    {ErrorKind::kClockSkew, {403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.", "0002-00000504"}, {403, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.", ""}},
    {ErrorKind::kPresignedExpired, {403, "AccessDenied", "Request has expired.", "0002-00000069"}, {403, "AccessDenied", "Request has expired", ""}},
    {ErrorKind::kInvalidToken, {403, "InvalidSecurityToken", "The security token you provided is invalid.", "0002-00000006"}, {400, "InvalidToken", "The provided token is malformed or otherwise invalid.", ""}},
    {ErrorKind::kExpiredToken, {403, "SecurityTokenExpired", "The security token you provided has expired.", "0002-00000008"}, {400, "ExpiredToken", "The provided token has expired.", ""}},
    {ErrorKind::kUnsignedHeader, {403, "AccessDenied", "There were headers present in the request which were not signed.", "0002-00000224"}, {403, "AccessDenied", "There were headers present in the request which were not signed", ""}},
    {ErrorKind::kContentHashMismatch, {400, "InvalidArgument", "The provided x-oss-content-sha256 does not match what was computed.", "0002-00000227"}, {400, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.", ""}},
    {ErrorKind::kMissingContentHash, {400, "InvalidArgument", "x-oss-content-sha256 is missing.", "0002-00000225"}, {400, "InvalidRequest", "Missing required header for this request: x-amz-content-sha256", ""}},
    {ErrorKind::kNoSuchBucket, {404, "NoSuchBucket", "The specified bucket does not exist.", "0015-00000101"}, {404, "NoSuchBucket", "The specified bucket does not exist", ""}},
    {ErrorKind::kNoSuchKey, {404, "NoSuchKey", "The specified key does not exist.", "0026-00000001"}, {404, "NoSuchKey", "The specified key does not exist.", ""}},
    {ErrorKind::kNoSuchUpload, {404, "NoSuchUpload", "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.", "0042-00000002"}, {404, "NoSuchUpload", "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.", ""}},
    {ErrorKind::kNoSuchSymlinkTarget, {404, "SymlinkTargetNotExist", "The symlink target object does not exist.", "0026-00000012"}, {404, "NoSuchKey", "The specified key does not exist.", ""}},
    {ErrorKind::kNotSymlink, {400, "NotSymlink", "The specified object is not a symlink.", "0043-00000101"}, {400, "InvalidRequest", "The specified object is not a symlink.", ""}},
    {ErrorKind::kInvalidTargetType, {400, "InvalidTargetType", "The type of the symlink's target is not allowed.", "0026-00000011"}, {400, "InvalidRequest", "The type of the symlink's target is not allowed.", ""}},
    {ErrorKind::kBucketExists, {409, "BucketAlreadyExists", "The requested bucket name is not available. Please select a different name and try again.", "0015-00000104"}, {409, "BucketAlreadyOwnedByYou", "Your previous request to create the named bucket succeeded and you already own it.", ""}},
    {ErrorKind::kBucketNotEmpty, {409, "BucketNotEmpty", "The bucket you tried to delete is not empty. Please try again after deleting all objects in the bucket.", "0015-00000301"}, {409, "BucketNotEmpty", "The bucket you tried to delete is not empty", ""}},
    {ErrorKind::kInvalidBucketName, {400, "InvalidBucketName", "The specified bucket is not valid.", "0015-00000001"}, {400, "InvalidBucketName", "The specified bucket is not valid.", ""}},
    {ErrorKind::kInvalidObjectName, {400, "InvalidObjectName", "The specified object is not valid.", "0016-00000501"}, {400, "InvalidURI", "Couldn't parse the specified URI.", ""}},
    {ErrorKind::kKeyTooLong, {400, "InvalidObjectName", "The length of the object name is too long.", "0016-00000502"}, {400, "KeyTooLongError", "Your key is too long", ""}},
    {ErrorKind::kInvalidArgument, {400, "InvalidArgument", "Invalid argument.", "0017-00000901"}, {400, "InvalidArgument", "Invalid Argument", ""}},
    {ErrorKind::kInvalidRequest, {400, "InvalidRequest", "The request is invalid.", "0017-00000902"}, {400, "InvalidRequest", "Invalid Request", ""}},
    {ErrorKind::kInvalidRange, {416, "InvalidRange", "The requested range cannot be satisfied.", "0026-00000102"}, {416, "InvalidRange", "The requested range is not satisfiable", ""}},
    {ErrorKind::kInvalidDigest, {400, "InvalidDigest", "The Content-MD5 you specified was invalid.", "0016-00000101"}, {400, "InvalidDigest", "The Content-MD5 you specified was invalid.", ""}},
    {ErrorKind::kBadDigest, {400, "InvalidDigest", "The Content-MD5 you specified did not match what we received.", "0016-00000102"}, {400, "BadDigest", "The Content-MD5 or checksum value you specified did not match what we received.", ""}},
    {ErrorKind::kMalformedXml, {400, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema.", "0016-00000401"}, {400, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema", ""}},
    {ErrorKind::kIncompleteBody, {400, "InvalidArgument", "The request body is not what its headers promise.", "0016-00000202"}, {400, "IncompleteBody", "The request body is not what its headers promise.", ""}},
    {ErrorKind::kInvalidPart, {400, "InvalidPart", "One or more of the specified parts could not be found or the specified entity tag might not have matched the part's entity tag.", "0042-00000301"}, {400, "InvalidPart", "One or more of the specified parts could not be found. The part may not have been uploaded, or the specified entity tag may not match the part's entity tag.", ""}},
    {ErrorKind::kInvalidPartOrder, {400, "InvalidPartOrder", "The list of parts was not in ascending order.", "0042-00000302"}, {400, "InvalidPartOrder", "The list of parts was not in ascending order. Parts must be ordered by part number.", ""}},
    {ErrorKind::kEntityTooSmall, {400, "EntityTooSmall", "Your proposed upload smaller than the minimum allowed size.", "0042-00000303"}, {400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size", ""}},
    {ErrorKind::kPreconditionFailed, {412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.", "0026-00000103"}, {412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", ""}},
    {ErrorKind::kFileExists, {409, "FileAlreadyExists", "The object you specified already exists and can not be overwritten.", "0026-00000002"}, {412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold", ""}},
    {ErrorKind::kPositionMismatch, {409, "PositionNotEqualToLength", "Position is not equal to file length.", "0026-00000016"}, {409, "InvalidRequest", "Position is not equal to file length.", ""}},
    {ErrorKind::kNotAppendable, {409, "ObjectNotAppendable", "The object is not appendable.", "0026-00000017"}, {409, "InvalidRequest", "The object is not appendable.", ""}},
    {ErrorKind::kMethodNotAllowed, {405, "MethodNotAllowed", "The specified method is not allowed against this resource.", "0017-00000101"}, {405, "MethodNotAllowed", "The specified method is not allowed against this resource.", ""}},
    {ErrorKind::kMissingContentLength, {411, "MissingContentLength", "You must provide the Content-Length HTTP header.", "0017-00000202"}, {411, "MissingContentLength", "You must provide the Content-Length HTTP header.", ""}},
    {ErrorKind::kArchived, {403, "InvalidObjectState", "The operation is not valid for the object's state.", "0026-00000104"}, {403, "InvalidObjectState", "The operation is not valid for the object's storage class", ""}},
    {ErrorKind::kNotImplemented, {501, "NotImplemented", "A header or query you provided implies functionality that is not implemented.", "0017-00000102"}, {501, "NotImplemented", "A header you provided implies functionality that is not implemented", ""}},
    {ErrorKind::kInternal, {500, "InternalError", "We encountered an internal error. Please try again.", "0001-00000001"}, {500, "InternalError", "We encountered an internal error. Please try again.", ""}},
    {ErrorKind::kSlowDown, {503, "SlowDown", "Please reduce your request rate.", "0001-00000503"}, {503, "SlowDown", "Please reduce your request rate.", ""}},
    {ErrorKind::kTooManyRequests, {503, "TotalQpsLimitExceeded", "The total QPS of your account exceeds the limit.", "0001-00000504"}, {503, "SlowDown", "Please reduce your request rate.", ""}},
};

}  // namespace

ErrorWords WordsOf(ErrorKind kind, Dialect dialect) {
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows), [kind](const Row& r) { return r.kind == kind; });
  return dialect == Dialect::kOss ? row->oss : row->s3;
}

}  // namespace bucketvol::bucketd
