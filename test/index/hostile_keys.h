#pragma once

#include <random>
#include <string>
#include <vector>

#include "test/index/reference_tree.h"

namespace bucketvol::testing {

/// Makes random sets of objects under a prefix, in key order, with the names that break naive builders.
class HostileKeys {
 public:
  explicit HostileKeys(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  std::vector<TestObject> Objects(const std::string& prefix);

 private:
  std::string Path();
  std::string Segment();
  std::string FromAlphabet(const std::string& alphabet, size_t most);
  std::string Etag();
  uint64_t Size();

  std::mt19937_64 random_;
  int style_ = 0;
};

}  // namespace bucketvol::testing
