#pragma once

#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "test/bench/load/load_job.h"
#include "test/bench/load/load_result.h"

namespace bucketvol::bench {

/// Deals out what is to be read. Next is called by each reader with its own number; readers may be threads or
/// processes forked after the work was made.
class Work {
 public:
  virtual ~Work() = default;
  /// What this reader reads next; nothing when it is done.
  virtual std::optional<Access> Next(int reader) = 0;
};

/// The work of `job`, which must outlive it, as must `result`, where the place in the common list is kept.
/// For random reads the sizes of the files are looked up.
absl::StatusOr<std::unique_ptr<Work>> MakeWork(const LoadJob& job, LoadResult& result);

}  // namespace bucketvol::bench
