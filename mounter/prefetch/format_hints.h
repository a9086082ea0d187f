#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "mounter/base/byte_range.h"

namespace bucketvol {

/// Tells from bytes of a file that somebody reads what will be read next: from the header of a safetensors
/// file, the directory of a ZIP archive (those of torch.save and numpy.savez are), the footer of a Parquet
/// file. (A GGUF file is read from its beginning, as any other is.)
///
/// Has nothing fetched to find out: it names places, and once readers have had their bytes fetched it tells
/// what follows. A file that is not what its name says gives itself away there and costs nothing.
///
/// Thread-compatible.
class FormatHints {
 public:
  /// What was found out.
  struct Advice {
    std::vector<ByteRange> ahead;      // Will be read soon.
    std::vector<uint64_t> boundaries;  // For StreamTable::SetBoundaries; empty: nothing new.
  };

  /// The hints for an object of that name; null when it tells nothing.
  static std::unique_ptr<FormatHints> For(absl::string_view key, uint64_t object_size);
  virtual ~FormatHints() = default;

  /// Places to be looked at, each by itself, once all its bytes are there. None: there is nothing more to
  /// tell.
  const std::vector<ByteRange>& wanted() const { return wanted_; }
  /// Takes the bytes of one of wanted(), which become others.
  virtual Advice Take(ByteRange range, absl::string_view bytes) = 0;

 protected:
  FormatHints(uint64_t object_size, std::vector<ByteRange> wanted)
      : size_(object_size), wanted_(std::move(wanted)) {}

  const uint64_t size_;
  std::vector<ByteRange> wanted_;
};

}  // namespace bucketvol
