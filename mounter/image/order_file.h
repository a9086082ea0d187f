#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "mounter/index/index_file.h"
#include "mounter/index/staged_file.h"

namespace bucketvol {

inline constexpr char kOrderName[] = "order";  // Beside the files of an index; not part of it.

/// The objects that an order speaks of: the same listing gives the same, whenever it was made.
struct OrderSubject {
  uint64_t rows = 0;      // Of the object table,
  uint32_t checksum = 0;  // and of what is in them.

  static absl::StatusOr<OrderSubject> Of(const ObjectTable& table);
  friend bool operator==(const OrderSubject&, const OrderSubject&) = default;
};

/// Rows of an object table in the order in which they were read.
struct StoredOrder {
  std::vector<uint32_t> rows;
  bool open = false;  // The epoch was not over when it was stored.
};

/// Reads the order in the directory of an index, at most the first `most` rows of it. NotFound: there is none
/// for `subject`. DataLoss or FailedPrecondition: what there is cannot be used.
absl::StatusOr<StoredOrder> ReadOrder(const std::string& directory, const OrderSubject& subject,
                                      uint64_t most);

/// An order while it is recorded. FORMAT.md has the bytes.
///
/// What Commit has told is there for the next mount even if this process is killed. Rows are written behind
/// those that count, and the head that says how many count, with their checksum, after them. Not thread-safe.
class OrderFile {
 public:
  static absl::StatusOr<OrderFile> Create(const std::string& directory, const OrderSubject& subject);

  absl::Status Append(absl::Span<const uint32_t> rows);
  /// Makes what was appended count, and the file the order of its directory in place of what was there.
  absl::Status Commit(bool open);

  uint64_t count() const { return count_; }
  /// Whether a Commit has given it its name.
  bool published() const { return published_; }

 private:
  OrderFile(std::string directory, const OrderSubject& subject, StagedFile file)
      : directory_(std::move(directory)), subject_(subject), file_(std::move(file)) {}

  std::string directory_;
  OrderSubject subject_;
  StagedFile file_;
  uint64_t count_ = 0;
  uint32_t checksum_ = 0;
  bool published_ = false;
};

}  // namespace bucketvol
