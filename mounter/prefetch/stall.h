#pragma once

namespace bucketvol {

/// How a read found its bytes when it came.
enum class Stall {
  kNone,      // All were there.
  kInflight,  // Some are on their way: fetched ahead, but too late.
  kAbsent,    // Some were not even asked for.
};

}  // namespace bucketvol
