#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace bucketvol {

/// Why a step of the guard failed. `text` is one line for the user: fixed words first, data last.
struct Failure {
  int error = 0;  // errno of the call that failed; 0 when there was none.
  std::string text;
};

/// Makes "CONTEXT: No such device" out of an errno.
inline Failure SystemFailure(int error, const std::string& context) {
  return Failure{error, context + ": " + strerror(error)};
}

/// A value or the reason why there is none. The guard is a small static program without abseil; this is its
/// StatusOr.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : held_(std::move(value)) {}            // NOLINT: converts on purpose, like StatusOr.
  Outcome(Failure failure) : held_(std::move(failure)) {}  // NOLINT

  bool ok() const { return held_.index() == 0; }
  T& value() { return *std::get_if<0>(&held_); }
  const T& value() const { return *std::get_if<0>(&held_); }
  Failure& failure() { return *std::get_if<1>(&held_); }
  const Failure& failure() const { return *std::get_if<1>(&held_); }

 private:
  std::variant<T, Failure> held_;
};

/// A step that yields nothing but success.
struct Nothing {};
using Step = Outcome<Nothing>;

}  // namespace bucketvol

/// Returns the Failure of an Outcome from the enclosing function.
#define RETURN_IF_FAILED(expr)                                                                          \
  do {                                                                                                  \
    if (auto outcome_macro_ = (expr); !outcome_macro_.ok()) return std::move(outcome_macro_.failure()); \
  } while (false)

// NOLINTBEGIN(bugprone-macro-parentheses): `lhs` may declare a variable and `holder` is a name.
/// Evaluates an Outcome; returns its Failure from the enclosing function, or binds its value to `lhs`.
#define ASSIGN_OR_FAIL(lhs, expr) ASSIGN_OR_FAIL_IMPL_(OUTCOME_CONCAT_(outcome_, __COUNTER__), lhs, expr)
#define ASSIGN_OR_FAIL_IMPL_(holder, lhs, expr)         \
  auto holder = (expr);                                 \
  if (!holder.ok()) return std::move(holder.failure()); \
  lhs = std::move(holder.value())
// NOLINTEND(bugprone-macro-parentheses)
#define OUTCOME_CONCAT_(a, b) OUTCOME_CONCAT_INNER_(a, b)
#define OUTCOME_CONCAT_INNER_(a, b) a##b
