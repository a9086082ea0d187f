#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace bucketvol::testing {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return GetStatus(arg).ok();
}

MATCHER_P2(StatusIs, code, message_matcher, "") {
  const absl::Status status = GetStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message_matcher, std::string(status.message()), result_listener);
}

}  // namespace bucketvol::testing

#define EXPECT_OK(expr) EXPECT_THAT(expr, ::bucketvol::testing::IsOk())
#define ASSERT_OK(expr) ASSERT_THAT(expr, ::bucketvol::testing::IsOk())
// NOLINTBEGIN(bugprone-macro-parentheses): `lhs` may be a declaration.
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  ASSERT_OK_AND_ASSIGN_IMPL_(TEST_CONCAT_(status_or_, __LINE__), lhs, expr)
#define ASSERT_OK_AND_ASSIGN_IMPL_(holder, lhs, expr) \
  auto holder = (expr);                               \
  ASSERT_OK(holder);                                  \
  lhs = *std::move(holder)
// NOLINTEND(bugprone-macro-parentheses)
#define TEST_CONCAT_(a, b) TEST_CONCAT_INNER_(a, b)
#define TEST_CONCAT_INNER_(a, b) a##b
