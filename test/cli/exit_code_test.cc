#include "mounter/cli/exit_code.h"

#include "gtest/gtest.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {
namespace {

TEST(ExitCodeTest, TellsUsageFromFailure) {
  EXPECT_EQ(ExitCodeOf(absl::OkStatus()), 0);
  EXPECT_EQ(ExitCodeOf(absl::NotFoundError("x")), 1);
  EXPECT_EQ(ExitCodeOf(absl::InvalidArgumentError("by a service")), 1);
  EXPECT_EQ(ExitCodeOf(UsageError("x")), 2);
  EXPECT_EQ(ExitCodeOf(InterruptedError("x")), 130);
}

TEST(ExitCodeTest, TheMarkSurvivesAnnotation) {
  EXPECT_EQ(ExitCodeOf(Annotate(UsageError("x"), "context")), 2);
  EXPECT_TRUE(AsUsageError(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace bucketvol
