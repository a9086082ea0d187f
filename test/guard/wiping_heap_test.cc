// What the heap of the guard's program frees came from it. AddressSanitizer reports where it did not.
#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(WipingHeapTest, EveryFormOfNewHasItsDelete) {
  delete new std::string(100, 'x');
  delete[] new std::string[3];
  delete new (std::nothrow) std::string(100, 'x');
  delete[] new (std::nothrow) std::string[3];
  operator delete(operator new(10, std::nothrow), std::nothrow);
  operator delete[](operator new[](10, std::nothrow), std::nothrow);
}

TEST(WipingHeapTest, TheTemporaryMemoryOfAlgorithmsIsFreedAsItWasMade) {
  std::vector<std::string> places = {"a", "gone", "b", "gone", "c"};
  std::stable_partition(places.begin(), places.end(), [](const std::string& at) { return at != "gone"; });
  EXPECT_EQ(places, std::vector<std::string>({"a", "b", "c", "gone", "gone"}));
}

}  // namespace
}  // namespace bucketvol
