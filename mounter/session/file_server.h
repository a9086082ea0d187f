#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "mounter/base/byte_range.h"

namespace bucketvol {

/// A run of bytes that belongs to somebody else.
using Piece = absl::Span<const char>;

/// The position of a file in FileServer::Files().
using FileId = uint32_t;

/// Answers one read, exactly once: the first call counts, later ones do nothing, and a reply that is
/// destroyed without a call answers EIO. The request's time limit may have answered before; then every call
/// does nothing.
///
/// Thread-compatible: one thread at a time, but any thread.
class ReadReply {
 public:
  virtual ~ReadReply() = default;
  /// Sends the pieces, in order, as the bytes of the range. They are not copied in user space and need to
  /// live only until this returns. Fewer bytes than asked for mean the end of the file. Does not block on the
  /// network or on a lock held during I/O; costs one copy into the kernel.
  virtual void SendData(absl::Span<const Piece> pieces) = 0;
  /// Sends the error number that `status` stands for.
  virtual void SendError(const absl::Status& status) = 0;
};

struct ServedFile {
  std::string name;  // No "/", not "." or "..".
  uint64_t size = 0;
};

/// What a session shows: read-only files in one directory.
///
/// Thread-safe. Calls must not block: a session has few threads, and a read that waits must not hold one of
/// them.
class FileServer {
 public:
  virtual ~FileServer() = default;
  /// The files; the answer never changes.
  virtual std::vector<ServedFile> Files() const = 0;
  /// Reads bytes of a file. `range` is not empty and lies inside the file. The reply may be completed inside
  /// the call or later, by any thread.
  virtual void Read(FileId file, ByteRange range, std::unique_ptr<ReadReply> reply) = 0;
};

}  // namespace bucketvol
