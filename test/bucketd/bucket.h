#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "test/bucketd/http_message.h"
#include "test/bucketd/service_error.h"

namespace bucketvol::bucketd {

enum class ObjectType { kNormal, kMultipart, kAppendable, kSymlink };

/// What a listing says of one object. Views are good during the call that gives them.
struct ListEntry {
  absl::string_view key;
  absl::string_view etag;  // Lower case, without quotes.
  uint64_t size = 0;
  int64_t modified = 0;  // Unix seconds.
  ObjectType type = ObjectType::kNormal;
  absl::string_view storage_class;  // Empty: the usual one.
};

/// Everything that is known of an object but its bytes.
struct ObjectMeta {
  uint64_t size = 0;
  int64_t modified = 0;
  std::string etag;
  ObjectType type = ObjectType::kNormal;
  std::string storage_class;
  std::optional<uint64_t> crc64;
  std::string symlink_target;
  /// Headers that go back to readers: content-type and its like, user metadata by the name without its prefix
  /// ("meta-" + name), S3 checksums. Names in lower case, without x-oss-, x-amz-.
  std::vector<std::pair<std::string, std::string>> headers;
};

/// One version of an object, held fast however the bucket changes.
struct OpenObject {
  ObjectMeta meta;
  std::unique_ptr<BodySource> body;
};

/// Sees the entries of a scan.
class EntryVisitor {
 public:
  enum class Step { kNext, kSkipPrefix, kStop };
  virtual ~EntryVisitor() = default;
  /// After kSkipPrefix the scan goes on behind all keys that begin with skip_prefix().
  virtual Step Visit(const ListEntry& entry) = 0;
  virtual absl::string_view skip_prefix() const = 0;
};

enum class Bound { kAt, kAfter };

class WritableBucket;

/// A bucket that can be listed and read. Thread-safe.
class Bucket {
 public:
  explicit Bucket(std::string name) : name_(std::move(name)) {}
  virtual ~Bucket() = default;

  const std::string& name() const { return name_; }
  virtual int64_t created() const = 0;
  /// Shows the entries whose keys are at or after `from`, in byte order. The visitor must not call back.
  virtual void Scan(absl::string_view from, Bound bound, EntryVisitor& visitor) = 0;
  virtual Outcome<OpenObject> Open(absl::string_view key) = 0;
  /// Null when the bucket cannot be written.
  virtual WritableBucket* writable() { return nullptr; }

 private:
  const std::string name_;
};

/// The smallest string that is greater than every string beginning with `prefix`; nullopt when there is none.
std::optional<std::string> PrefixEnd(absl::string_view prefix);

}  // namespace bucketvol::bucketd
