#pragma once

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mounter/base/byte_range.h"

namespace bucketvol {

/// Blocks, one behind the other, of one version of one object. Borrowed for the call.
struct TierBlocks {
  absl::string_view key;
  absl::string_view etag;  // Never empty.
  uint64_t object_size = 0;
  ByteRange range;           // From the beginning of a block to the end of one.
  uint64_t block_bytes = 0;  // Of all blocks but the last of the object.
};

/// Bytes of a block and the CRC-32C that they had when they were offered.
struct TierBlock {
  absl::Span<const char> bytes;
  uint32_t crc32c = 0;
};

/// Who asked a tier for blocks.
class TierSink {
 public:
  enum class Verdict {
    kTaken,
    kWrong,      // These are not the bytes that were offered: the tier should forget the block.
    kNotWanted,  // Nobody waits for the tier any more.
  };
  virtual ~TierSink() = default;
  /// The next of the blocks; its bytes are borrowed for the call. Unless it is kTaken, no other may follow.
  virtual Verdict OnBlock(const TierBlock& block) = 0;
  /// No more will come: the next one is not there, or cannot be read. Exactly once.
  virtual void OnEnd() = 0;
};

/// A place for complete blocks below the memory: slower than that, nearer than the store, larger than both
/// need. A disk is one.
///
/// Thread-safe. Neither call blocks, and neither fails: a tier that cannot give or take does nothing, and
/// whoever asked goes to the store. A tier that does not answer is left alone for a while.
class BlockTier {
 public:
  virtual ~BlockTier() = default;
  /// Gives `sink` what it has of the blocks from the first on, in this call or later, one call at a time.
  virtual void Find(const TierBlocks& blocks, std::shared_ptr<TierSink> sink) = 0;
  /// Offers one block (`blocks` names that alone), whose bytes came from the store and were found right as
  /// far as that can be told. They stay as they are while `owner` is held, and count against the memory that
  /// long.
  virtual void Offer(const TierBlocks& blocks, const TierBlock& block, std::shared_ptr<const void> owner) = 0;
};

}  // namespace bucketvol
