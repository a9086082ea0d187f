#pragma once

#include <string>

#include "mounter/base/unique_fd.h"
#include "mounter/guard/outcome.h"

namespace bucketvol {

/// A file system being configured (fsopen(2)). Failures carry the kernel's own words from the context's log.
class FsContext {
 public:
  /// `type`: "fuse", "erofs". Loads the module where needed.
  static Outcome<FsContext> Open(const std::string& type);

  /// Values may be up to 255 bytes; there is no limit on their number.
  Step Set(const char* key, const std::string& value);
  Step SetFlag(const char* key);
  /// Creates the superblock. May block on what the file system reads.
  Step Create();
  /// A mount of the superblock that is attached nowhere. `attributes`: MOUNT_ATTR_*.
  Outcome<UniqueFd> Mount(unsigned attributes);

 private:
  FsContext(std::string type, UniqueFd fd) : type_(std::move(type)), fd_(std::move(fd)) {}
  Failure Explain(int error, const std::string& what) const;

  std::string type_;
  UniqueFd fd_;
};

/// Makes a detached mount appear at a directory, in this mount namespace.
Step AttachMount(const UniqueFd& mount, const std::string& mount_point);

}  // namespace bucketvol
