#include "mounter/cli/guard_locks.h"

#include <dirent.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mounter/base/crc.h"
#include "mounter/guard/lock_file.h"

namespace bucketvol {

// Where two paths clash, one of them is busy while the other one is mounted.
std::string LockOfMountPoint(absl::string_view mount_point) {
  return absl::StrFormat("%s/at-%016x", kLockDirectory, Crc64(0, mount_point));
}

std::string LockOfSource(absl::string_view name) { return absl::StrCat(kLockDirectory, "/", name); }

void CollectLocks() {
  DIR* entries = opendir(kLockDirectory);
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    if (entry->d_name[0] == '.') continue;
    if (auto stale = LockFile::TakeStale(absl::StrCat(kLockDirectory, "/", entry->d_name))) stale->Remove();
  }
  closedir(entries);
}

}  // namespace bucketvol
