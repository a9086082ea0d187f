#include "mounter/cli/node_memory_files.h"

#include <fcntl.h>

#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/cache/node_ledger.h"

namespace bucketvol {

absl::StatusOr<NodeMemoryFiles> NodeMemoryFiles::Open(const std::string& run_dir) {
  constexpr int kFlags = O_RDWR | O_CREAT | O_NOFOLLOW;
  const std::string path = absl::StrCat(run_dir, "/.memory-1");
  RETURN_IF_ERROR(MakeDirectories(run_dir, 0755));
  NodeMemoryFiles files;
  ASSIGN_OR_RETURN(files.table_, OpenFile(path, kFlags));
  ASSIGN_OR_RETURN(files.locks_, OpenFile(absl::StrCat(path, ".locks"), kFlags));
  // What is there stays as it is.
  const int error = posix_fallocate(files.table_.get(), 0, static_cast<off_t>(NodeLedger::TableBytes()));
  if (error != 0) return ErrnoToStatus(error, absl::StrCat("reserve ", path));
  return files;
}

std::vector<int> NodeMemoryFiles::Numbers() const {
  if (!table_.valid()) return {};
  return {table_.get(), locks_.get()};
}

}  // namespace bucketvol
