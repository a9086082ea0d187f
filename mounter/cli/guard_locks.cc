#include "mounter/cli/guard_locks.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mounter/base/crc.h"
#include "mounter/base/file.h"
#include "mounter/guard/lock_file.h"

namespace bucketvol {

// Where two paths clash, one of them is busy while the other one is mounted.
std::string LockOfMountPoint(absl::string_view mount_point) {
  return absl::StrFormat("%s/at-%016x", kLockDirectory, Crc64(0, mount_point));
}

std::string LockOfSource(absl::string_view name) { return absl::StrCat(kLockDirectory, "/", name); }

void CollectLocks() {
  for (const std::string& name : NamesIn(kLockDirectory)) {
    if (name[0] == '.') continue;
    if (auto stale = LockFile::TakeStale(absl::StrCat(kLockDirectory, "/", name))) stale->Remove();
  }
}

}  // namespace bucketvol
