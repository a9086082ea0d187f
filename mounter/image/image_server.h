#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "mounter/index/index_file.h"
#include "mounter/reader/reader.h"
#include "mounter/session/file_server.h"
#include "mounter/telemetry/read_metrics.h"

namespace bucketvol {

/// Shows the data devices of an index as files `data0`, `data1`, …, one per device, whose bytes are those of
/// the objects at their offsets and zeros everywhere else.
///
/// A read that covers several objects asks for all of them at once and is answered when the last one is
/// there; one that fails makes the whole read fail, because a block device has no way to say which part is
/// missing. Thread-safe. Counts requests, bytes and errors; the reader counts the rest.
class ImageServer final : public FileServer {
 public:
  /// Borrows `table`, `reader` and `metrics` for its own life and that of its reads. `devices`: of the
  /// manifest that belongs to the table.
  ImageServer(const ObjectTable& table, std::vector<DataDevice> devices, Reader& reader,
              ReadMetrics& metrics);

  std::vector<ServedFile> Files() const override;
  void Read(FileId file, ByteRange range, std::unique_ptr<ReadReply> reply) override;

 private:
  /// The kernel repeats a read that failed, page by page: logs the 1st, 2nd, 4th, 8th… failure.
  void LogTableError(const absl::Status& error);

  const ObjectTable& table_;
  const std::vector<DataDevice> devices_;
  Reader& reader_;
  ReadMetrics& metrics_;
  std::atomic<uint64_t> table_errors_{0};
};

}  // namespace bucketvol
