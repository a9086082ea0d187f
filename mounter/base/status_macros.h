#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

/// Returns from the enclosing function when `expr` is not OK.
#define RETURN_IF_ERROR(expr)                                                             \
  do {                                                                                    \
    if (::absl::Status status_macro_ = (expr); !status_macro_.ok()) return status_macro_; \
  } while (false)

// NOLINTBEGIN(bugprone-macro-parentheses): `lhs` may declare a variable and `holder` is a name.
/// Evaluates a StatusOr; returns its error from the enclosing function, or binds its value to `lhs`.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_IMPL_(STATUS_MACRO_CONCAT_(status_or_, __COUNTER__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL_(holder, lhs, expr)      \
  auto holder = (expr);                                \
  if (!holder.ok()) return std::move(holder).status(); \
  lhs = *std::move(holder)
// NOLINTEND(bugprone-macro-parentheses)
#define STATUS_MACRO_CONCAT_(a, b) STATUS_MACRO_CONCAT_INNER_(a, b)
#define STATUS_MACRO_CONCAT_INNER_(a, b) a##b

namespace bucketvol {

/// Puts `context` and ": " before the message of an error. Keeps code and payloads; an OK status passes
/// unchanged. Add context once per layer: fixed words first, data last.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

}  // namespace bucketvol
