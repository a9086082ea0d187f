#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "mounter/base/byte_range.h"
#include "mounter/reader/block.h"
#include "mounter/reader/reader.h"

namespace bucketvol {

class CachedObject;

/// A read on its way. Whoever makes it `finished` first runs its callback.
struct PendingRead {
  struct Part {
    std::shared_ptr<Block> block;
    bool was_ready;  // When the read came: its bytes count as memory's, and are verified.
  };

  PendingRead(std::shared_ptr<CachedObject> what, ByteRange where, ReadContext with, ReadCallback callback)
      : object(std::move(what)), range(where), context(std::move(with)), done(std::move(callback)) {}

  /// Drops one of the reasons to wait; true if it was the last.
  bool Unblock() { return missing.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  const std::shared_ptr<CachedObject> object;
  const ByteRange range;
  const ReadContext context;
  ReadCallback done;                   // Belongs to who set `finished`.
  absl::InlinedVector<Part, 2> parts;  // The blocks of the range, in order. Fixed by CachedObject::Join.
  std::atomic<int> missing{0};
  std::atomic<bool> finished{false};
  int damaged = 0;  // How often a block in memory failed its checksum.
};

}  // namespace bucketvol
