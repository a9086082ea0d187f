#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "mounter/image/order_file.h"
#include "mounter/index/index_file.h"
#include "mounter/prefetch/object_order.h"
#include "mounter/prefetch/order_match.h"
#include "mounter/prefetch/order_recorder.h"
#include "mounter/reader/reader.h"

namespace bucketvol {

/// Records in which order the small objects of a mount are read, and has the reader follow what was recorded
/// in an earlier epoch, of this mount or one before.
///
/// The recording lies beside the index. It holds for every index of the same listing. What goes wrong costs
/// the recording and nothing else. Not thread-safe: its calls may wait for the disk, so they belong to a
/// thread for which nobody waits.
class OrderKeeper {
 public:
  struct Settings {
    std::string directory;                                   // Of the index.
    uint64_t most = 1 << 20;                                 // Objects in a recording.
    enum class Epoch { kNew, kGoesOn } epoch = Epoch::kNew;  // kGoesOn: of a worker that died.
  };

  /// Borrows both.
  OrderKeeper(Reader& reader, const ObjectTable& table, Settings settings);

  /// Has the reader follow what was recorded. Before any Tick.
  void Begin();
  /// Records what was read since the last call. About once a second, and once at the end.
  void Tick();

 private:
  absl::Status Load();
  absl::Status GoOn(std::vector<uint32_t> rows);
  void Follow(std::vector<uint32_t> rows);
  absl::Status Record(absl::Span<const uint32_t> touches);
  absl::Status Store(std::vector<uint32_t>& added);
  absl::Status EndEpoch();

  Reader& reader_;
  const ObjectTable& table_;
  const Settings settings_;
  OrderSubject subject_;
  std::optional<OrderRecorder> recorder_;        // None: nothing is recorded.
  std::optional<OrderFile> file_;                // Of the epoch, once something is in it.
  RecordedEpoch made_;                           // What is in it.
  RecordedEpoch kept_;                           // What lies on disk; is the same once file_ is published.
  std::shared_ptr<const ObjectOrder> followed_;  // May be null.
  std::optional<OrderMatch> match_;              // With it.
};

}  // namespace bucketvol
