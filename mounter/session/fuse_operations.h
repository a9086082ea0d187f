#pragma once

#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>
#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "mounter/session/file_server.h"
#include "mounter/session/pending_reads.h"

namespace bucketvol {

/// Answers libfuse's requests for a FileServer: a root directory with its files, read-only.
///
/// Thread-safe. libfuse finds it through its user data, which must point to a pointer to it.
class FuseOperations {
 public:
  /// `max_background`: requests the kernel may have in flight in the background.
  FuseOperations(FileServer& server, std::shared_ptr<PendingReads> reads, uint16_t max_background);

  /// What libfuse shall call. Operations that change something answer EROFS; those left out ENOSYS.
  static fuse_lowlevel_ops Table();

  /// How long the requests that follow have been waiting already. For the time before several threads call.
  void set_age(absl::Duration age) { age_ = age; }

  /// A READ may ask for this many bytes; the kernel's own limit is 256 pages unless an administrator raised
  /// it.
  static constexpr uint32_t kMaxRequestBytes = 1 << 20;

 private:
  static FuseOperations& Of(fuse_req_t request) {
    return **static_cast<FuseOperations**>(fuse_req_userdata(request));
  }
  static void OnInit(void* user_data, fuse_conn_info* connection);
  static void OnLookup(fuse_req_t request, fuse_ino_t parent, const char* name);
  static void OnGetattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*);
  static void OnOpen(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info);
  static void OnRead(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info*);
  static void OnOpendir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info);
  static void OnReaddir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset, fuse_file_info*);
  static void OnRelease(fuse_req_t request, fuse_ino_t, fuse_file_info*) { fuse_reply_err(request, 0); }
  static void OnStatfs(fuse_req_t request, fuse_ino_t);
  template <typename... Arguments>
  static void OnChange(fuse_req_t request, Arguments...) {
    fuse_reply_err(request, EROFS);
  }

  const ServedFile* File(fuse_ino_t inode) const;
  /// False: no such inode.
  bool Attributes(fuse_ino_t inode, struct stat& attributes) const;
  size_t AddEntry(fuse_req_t request, size_t position, char* out, size_t room) const;

  FileServer& server_;
  const std::shared_ptr<PendingReads> reads_;
  const uint16_t max_background_;
  const std::vector<ServedFile> files_;
  absl::flat_hash_map<std::string, FileId> by_name_;  // Fixed at construction.
  absl::Duration age_ = absl::ZeroDuration();
};

}  // namespace bucketvol
