#pragma once

#include <time.h>

#include <cstdint>

namespace bucketvol {

/// Milliseconds since an arbitrary fixed origin; never goes back.
inline int64_t MonotonicMs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace bucketvol
