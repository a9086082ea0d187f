#include "mounter/session/errno_map.h"

#include <cerrno>

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(ErrnoMapTest, NamesWhatTheServiceSaid) {
  EXPECT_EQ(StatusToErrno(absl::OkStatus()), 0);
  EXPECT_EQ(StatusToErrno(absl::NotFoundError("")), ENOENT);
  EXPECT_EQ(StatusToErrno(absl::PermissionDeniedError("")), EACCES);
  EXPECT_EQ(StatusToErrno(absl::UnauthenticatedError("")), EACCES);
  EXPECT_EQ(StatusToErrno(absl::FailedPreconditionError("")), ESTALE);
  EXPECT_EQ(StatusToErrno(absl::AlreadyExistsError("")), EEXIST);
  EXPECT_EQ(StatusToErrno(absl::InvalidArgumentError("")), EINVAL);
  EXPECT_EQ(StatusToErrno(absl::DeadlineExceededError("")), ETIMEDOUT);
  EXPECT_EQ(StatusToErrno(absl::UnimplementedError("")), EOPNOTSUPP);
  EXPECT_EQ(StatusToErrno(absl::CancelledError("")), EINTR);
}

TEST(ErrnoMapTest, NeverAsksTheApplicationToTryAgain) {
  for (const absl::Status& status :
       {absl::UnavailableError(""), absl::ResourceExhaustedError(""), absl::DataLossError(""),
        absl::InternalError(""), absl::AbortedError("")}) {
    EXPECT_EQ(StatusToErrno(status), EIO) << status;
  }
}

TEST(ErrnoMapTest, AMissingObjectIsStaleToWhoHasItOpen) {
  EXPECT_EQ(ReadStatusToErrno(absl::NotFoundError("")), ESTALE);
  EXPECT_EQ(ReadStatusToErrno(absl::PermissionDeniedError("")), EACCES);
}

}  // namespace
}  // namespace bucketvol
