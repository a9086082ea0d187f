#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "mounter/objstore/object_store.h"

namespace bucketvol::testing {

/// The keys of a virtual bucket as a function of their number: any size without memory. Strictly increasing.
/// Implementations are immutable and thread-safe.
class KeySequence {
 public:
  virtual ~KeySequence() = default;
  virtual uint64_t size() const = 0;
  /// Writes key `index` (< size()) to `out`, replacing what it held.
  virtual void KeyAt(uint64_t index, std::string& out) const = 0;
  /// The number of the first key ≥ `key`; size() when there is none.
  uint64_t LowerBound(absl::string_view key) const;
};

struct FakeObject {
  std::string etag;
  uint64_t size = 0;
  int64_t modified_ms = 1'700'000'000'000;
  ListedObject::Kind kind = ListedObject::Kind::kNormal;
  bool archived = false;
};

struct FakeEntry {
  FakeObject object;
  std::optional<std::string> data;  // Absent: the bytes come from a function.
};
using FakeObjects = std::map<std::string, FakeEntry, std::less<>>;

/// What the metadata of a sequence's key is.
FakeObject FakeMetadata(absl::string_view key);
/// An ETag (32 upper-case hex digits) that depends on `text`.
std::string FakeETag(absl::string_view text);
/// Bytes that depend on key and offset only: what an object holds where a test brings no content of its own.
void FakeContent(absl::string_view key, uint64_t offset, absl::Span<char> out);

/// The page that a service answers `request` with: at most `limit` keys and prefixes of `objects` and
/// `sequence` (may be null) together. An object hides the sequence's key of the same name.
ListPage MakeListPage(const ListRequest& request, int limit, const FakeObjects& objects,
                      const KeySequence* sequence);

}  // namespace bucketvol::testing
