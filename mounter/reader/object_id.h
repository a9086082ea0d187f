#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace bucketvol {

/// One version of one object. A new ETag is a new object: bytes of two versions never meet.
struct ObjectId {
  std::string key;   // Whole key in the bucket.
  std::string etag;  // For If-Match, as the service wrote it.
  uint64_t size = 0;

  friend bool operator==(const ObjectId&, const ObjectId&) = default;
  template <typename Hash>
  friend Hash AbslHashValue(Hash hash, const ObjectId& id) {
    return Hash::combine(std::move(hash), id.key, id.etag, id.size);
  }
};

}  // namespace bucketvol
