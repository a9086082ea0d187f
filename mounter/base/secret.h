#pragma once

#include <ostream>
#include <string>
#include <utility>

namespace bucketvol {

/// Holds a value that must not be seen: streaming it prints `***`. The owner asks for the value by name.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}

  const std::string& Reveal() const { return value_; }
  bool empty() const { return value_.empty(); }
  friend bool operator==(const Secret&, const Secret&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Secret&) { return out << "***"; }

 private:
  std::string value_;
};

}  // namespace bucketvol
