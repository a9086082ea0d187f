#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "mounter/index/run_spill.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// Keys of one interval that wait for their turn: a whole page, packed rows in memory, or packed rows in the
/// spill file.
struct Batch {
  size_t count = 0;                // Of objects, ≥ 1.
  std::unique_ptr<ListPage> page;  // The first `count` objects of it; null for packed rows.
  std::string rows;
  SpillFile::Piece spilled;  // bytes > 0: the rows are there.

  /// What it takes of the memory for waiting keys.
  uint64_t held_bytes() const { return rows.capacity(); }
};

/// The batches of one interval, in key order.
struct Run {
  std::deque<Batch> batches;
  SpillFile::Writer writer;
};

}  // namespace bucketvol
