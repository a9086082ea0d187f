#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/index/index_file.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// Cuts text that comes in pieces into lines, without their ends (LF or CR LF). Empty lines are left out. A
/// line longer than any key is given cut.
class LineCutter {
 public:
  using Take = absl::FunctionRef<absl::Status(absl::string_view line)>;

  /// Ends with the first error of `take`.
  absl::Status Add(absl::string_view text, Take take);
  /// The last line may lack its end.
  absl::Status Finish(Take take);

 private:
  absl::Status TakeLine(Take take);

  std::string line_;
};

/// What an object that lists objects says.
struct OrderList {
  std::vector<uint32_t> rows;  // Of the object table, in the order of the list.
  uint64_t lines = 0;
  uint64_t unknown = 0;   // Of them: name no object with data.
  uint64_t left_out = 0;  // Of them: beyond what was wanted.
};

/// Reads the object `prefix` + `name`, which names one path below `prefix` in each line, and finds at most
/// the first `most` of them in `table`. Waits for the service. NotFound: the index does not have the object,
/// or it is gone.
absl::StatusOr<OrderList> ReadOrderList(ObjectStore& store, const ObjectTable& table,
                                        const std::string& prefix, absl::string_view name, uint64_t most,
                                        const std::shared_ptr<Cancellation>& cancellation);

}  // namespace bucketvol
