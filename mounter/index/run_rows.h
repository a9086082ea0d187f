#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// Packs listed objects into a fifth of the memory that a page takes: for keys that wait for their turn, in
/// memory or in the spill file. Appends to `out`, which may be reused. Keys need not be sorted, but pack best
/// when they are.
///
/// Rows follow each other without padding; lengths and numbers are varints (LEB128):
///   flags           1 byte: 1 symlink, 2 archived, 4 ETag begins with 32 upper-case hex digits, 8 with
///   lower-case ones shared          bytes in common with the key before (0 for the first row) suffix length,
///   suffix packed ETag     16 bytes, with flag 4 or 8 ETag length, bytes   the rest of the ETag size time
///   modified_ms less the one before (0 for the first row), zigzag
void PackRows(absl::Span<const ListedObject> objects, std::string& out);

/// Turns packed rows back into objects. Keeps its buffers from call to call, so that a long run allocates
/// nothing. Not thread-safe.
class RowReader {
 public:
  /// Reads `count` rows. DataLoss when `rows` does not hold exactly that. The objects live until the next
  /// call.
  absl::Status Read(absl::string_view rows, size_t count);
  absl::Span<const ListedObject> objects() const { return objects_; }

 private:
  char* Reserve(size_t bytes);

  std::vector<ListedObject> objects_;
  // Text of the objects, in blocks, so that views stay valid as it grows.
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t block_ = 0;
  size_t used_ = 0;
  std::vector<std::unique_ptr<char[]>> large_;
};

}  // namespace bucketvol
