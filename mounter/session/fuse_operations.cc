#include "mounter/session/fuse_operations.h"

#include <limits.h>
#include <sys/statvfs.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

namespace bucketvol {
namespace {

constexpr double kForever =
    std::numeric_limits<int32_t>::max();  // Seconds. Attributes and names never change.
constexpr blksize_t kBlockSize = 4096;
constexpr fuse_ino_t kFirstFile = FUSE_ROOT_ID + 1;  // Inode of file 0; the others follow in order.
constexpr size_t kMaxPieces = IOV_MAX - 1;           // libfuse puts the reply's header in front.

/// The kernel's side of one READ.
class FuseRead final : public ReadRequest {
 public:
  explicit FuseRead(fuse_req_t request) : request_(request) {}

  void SendData(absl::Span<const Piece> pieces) override {
    if (pieces.size() > kMaxPieces) return SendJoined(pieces);
    std::vector<iovec> parts;
    parts.reserve(pieces.size());
    for (const Piece& piece : pieces) parts.push_back({const_cast<char*>(piece.data()), piece.size()});
    fuse_reply_iov(request_, parts.data(), static_cast<int>(parts.size()));
  }
  void SendErrno(int error) override { fuse_reply_err(request_, error); }
  void Forget() override { fuse_reply_none(request_); }

 private:
  void SendJoined(absl::Span<const Piece> pieces) {
    std::string joined;
    for (const Piece& piece : pieces) joined.append(piece.data(), piece.size());
    fuse_reply_buf(request_, joined.data(), joined.size());
  }

  const fuse_req_t request_;
};

}  // namespace

FuseOperations::FuseOperations(FileServer& server, std::shared_ptr<PendingReads> reads,
                               uint16_t max_background)
    : server_(server), reads_(std::move(reads)), max_background_(max_background), files_(server.Files()) {
  for (FileId file = 0; file < files_.size(); ++file) by_name_.emplace(files_[file].name, file);
}

fuse_lowlevel_ops FuseOperations::Table() {
  fuse_lowlevel_ops table{};
  table.init = &OnInit;
  table.lookup = &OnLookup;
  table.getattr = &OnGetattr;
  table.open = &OnOpen;
  table.read = &OnRead;
  table.release = &OnRelease;
  table.opendir = &OnOpendir;
  table.readdir = &OnReaddir;
  table.releasedir = &OnRelease;
  table.statfs = &OnStatfs;
  table.setattr = &OnChange;
  table.mknod = &OnChange;
  table.mkdir = &OnChange;
  table.unlink = &OnChange;
  table.rmdir = &OnChange;
  table.symlink = &OnChange;
  table.rename = &OnChange;
  table.link = &OnChange;
  table.create = &OnChange;
  table.write = &OnChange;
  table.setxattr = &OnChange;
  table.removexattr = &OnChange;
  table.fallocate = &OnChange;
  return table;
}

void FuseOperations::OnInit(void* user_data, fuse_conn_info* connection) {
  const auto& self = **static_cast<FuseOperations**>(user_data);
  // libfuse derives max_pages, hence the size of a READ, from max_write.
  connection->max_write = kMaxRequestBytes;
  connection->max_readahead = kMaxRequestBytes;
  connection->max_background = self.max_background_;
  connection->congestion_threshold = self.max_background_;
  // ASYNC_DIO: without it a loop device with direct I/O would wait for each of its requests in turn.
  const unsigned wanted = FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO;
  const unsigned refused = FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE |
                           FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_HANDLE_KILLPRIV | FUSE_CAP_IOCTL_DIR |
                           FUSE_CAP_ATOMIC_O_TRUNC;
  connection->want = (connection->want | (wanted & connection->capable)) & ~refused;
}

const ServedFile* FuseOperations::File(fuse_ino_t inode) const {
  return inode >= kFirstFile && inode - kFirstFile < files_.size() ? &files_[inode - kFirstFile] : nullptr;
}

bool FuseOperations::Attributes(fuse_ino_t inode, struct stat& attributes) const {
  const ServedFile* file = File(inode);
  if (file == nullptr && inode != FUSE_ROOT_ID) return false;
  attributes = {};
  attributes.st_ino = inode;
  attributes.st_mode = file != nullptr ? S_IFREG | 0444 : S_IFDIR | 0555;
  attributes.st_nlink = file != nullptr ? 1 : 2;
  attributes.st_size = file != nullptr ? static_cast<off_t>(file->size) : 0;
  attributes.st_blocks = (attributes.st_size + 511) / 512;
  attributes.st_blksize = kBlockSize;
  return true;
}

void FuseOperations::OnLookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  const FuseOperations& self = Of(request);
  fuse_entry_param entry{};
  entry.attr_timeout = kForever;
  entry.entry_timeout = kForever;
  const auto found = self.by_name_.find(name);
  if (parent != FUSE_ROOT_ID) {
    fuse_reply_err(request, ENOTDIR);
  } else if (found == self.by_name_.end()) {
    fuse_reply_entry(request, &entry);  // Inode 0: the name does not exist, and the kernel may remember that.
  } else {
    entry.ino = kFirstFile + found->second;
    self.Attributes(entry.ino, entry.attr);
    fuse_reply_entry(request, &entry);
  }
}

void FuseOperations::OnGetattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  struct stat attributes;
  if (Of(request).Attributes(inode, attributes)) {
    fuse_reply_attr(request, &attributes, kForever);
  } else {
    fuse_reply_err(request, ENOENT);
  }
}

void FuseOperations::OnOpen(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  if (Of(request).File(inode) == nullptr) {
    fuse_reply_err(request, EISDIR);
  } else if ((info->flags & O_ACCMODE) != O_RDONLY) {
    fuse_reply_err(request, EROFS);
  } else {
    // The file's own page cache would hold every byte a second time below the loop device's or the file
    // system's.
    info->direct_io = 1;
    info->keep_cache = 1;
    fuse_reply_open(request, info);
  }
}

void FuseOperations::OnRead(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
                            fuse_file_info*) {
  FuseOperations& self = Of(request);
  const ServedFile* file = self.File(inode);
  if (file == nullptr || offset < 0) {
    fuse_reply_err(request, file == nullptr ? EISDIR : EINVAL);
    return;
  }
  const uint64_t begin = std::min<uint64_t>(static_cast<uint64_t>(offset), file->size);
  const ByteRange range{begin, begin + std::min<uint64_t>(size, file->size - begin)};
  if (range.empty()) {
    fuse_reply_buf(request, nullptr, 0);
    return;
  }
  self.server_.Read(static_cast<FileId>(inode - kFirstFile), range,
                    self.reads_->Add(std::make_unique<FuseRead>(request), self.age_));
}

void FuseOperations::OnOpendir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  if (inode != FUSE_ROOT_ID) {
    fuse_reply_err(request, ENOTDIR);
    return;
  }
  info->cache_readdir = 1;
  info->keep_cache = 1;
  fuse_reply_open(request, info);
}

// Entry 0 is ".", 1 "..", then the files. Returns the bytes the entry takes, more than `room` if it did not
// fit.
size_t FuseOperations::AddEntry(fuse_req_t request, size_t position, char* out, size_t room) const {
  struct stat attributes {};
  const char* name = position == 0 ? "." : "..";
  fuse_ino_t inode = FUSE_ROOT_ID;
  if (position >= 2) {
    name = files_[position - 2].name.c_str();
    inode = kFirstFile + position - 2;
  }
  Attributes(inode, attributes);
  return fuse_add_direntry(request, out, room, name, &attributes, static_cast<off_t>(position + 1));
}

void FuseOperations::OnReaddir(fuse_req_t request, fuse_ino_t, size_t size, off_t offset, fuse_file_info*) {
  const FuseOperations& self = Of(request);
  std::string out(size, '\0');
  size_t used = 0;
  for (auto position = static_cast<size_t>(offset); position < self.files_.size() + 2; ++position) {
    const size_t bytes = self.AddEntry(request, position, out.data() + used, size - used);
    if (bytes > size - used) break;
    used += bytes;
  }
  fuse_reply_buf(request, out.data(), used);
}

void FuseOperations::OnStatfs(fuse_req_t request, fuse_ino_t) {
  const FuseOperations& self = Of(request);
  struct statvfs answer {};
  answer.f_bsize = answer.f_frsize = kBlockSize;
  for (const ServedFile& file : self.files_) answer.f_blocks += (file.size + kBlockSize - 1) / kBlockSize;
  answer.f_files = self.files_.size() + 1;
  answer.f_namemax = NAME_MAX;
  fuse_reply_statfs(request, &answer);
}

}  // namespace bucketvol
