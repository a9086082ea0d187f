#pragma once

namespace bucketvol {

/// How a read found its bytes when it came.
enum class Stall {
  kNone,      // All were there.
  kInflight,  // All others are on their way or queued: fetched ahead, but too late.
  kAbsent,    // Some were not even asked for.
};

}  // namespace bucketvol
