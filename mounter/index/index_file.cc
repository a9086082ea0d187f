#include "mounter/index/index_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/erofs_format.h"

namespace bucketvol {
namespace {

constexpr size_t kMaxManifestBytes = 4 << 20;
// Somebody may publish a new build while the files are opened one after the other.
constexpr int kOpenAttempts = 3;

absl::Status Mismatch(const std::string& path) {
  return absl::DataLossError(absl::StrCat("file does not belong to the manifest beside it: ", path));
}

absl::StatusOr<UniqueFd> OpenOfSize(const std::string& path, uint64_t bytes) {
  ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_RDONLY));
  struct stat info;
  if (fstat(fd.get(), &info) != 0) return ErrnoToStatus(errno, absl::StrCat("stat ", path));
  if (static_cast<uint64_t>(info.st_size) != bytes) return Mismatch(path);
  return fd;
}

absl::StatusOr<UniqueFd> OpenMeta(const std::string& path, const IndexManifest& manifest) {
  ASSIGN_OR_RETURN(UniqueFd fd, OpenOfSize(path, manifest.meta_bytes));
  erofs::SuperBlock super;
  RETURN_IF_ERROR(
      ReadExactlyAt(fd.get(), {reinterpret_cast<char*>(&super), sizeof super}, erofs::kSuperOffset, path));
  const absl::string_view uuid(reinterpret_cast<const char*>(super.uuid), sizeof super.uuid);
  if (super.magic != erofs::kMagic || uuid != manifest.build_id) return Mismatch(path);
  return fd;
}

absl::StatusOr<std::unique_ptr<ObjectTable>> OpenTable(const std::string& path,
                                                       const IndexManifest& manifest) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenOfSize(path, manifest.report.table_bytes));
  ASSIGN_OR_RETURN(std::unique_ptr<ObjectTable> table, ObjectTable::Open(fd, path));
  if (table->build_id() != manifest.build_id) return Mismatch(path);
  return table;
}

absl::StatusOr<OpenIndex> TryOpen(const std::string& directory) {
  const std::string path = absl::StrCat(directory, "/", kManifestName);
  ASSIGN_OR_RETURN(const std::string bytes, ReadWholeFile(path, kMaxManifestBytes));
  OpenIndex index;
  auto manifest = DecodeIndexManifest(bytes);
  if (!manifest.ok()) return Annotate(manifest.status(), path);
  index.manifest = *std::move(manifest);
  ASSIGN_OR_RETURN(index.meta, OpenMeta(absl::StrCat(directory, "/", kMetaName), index.manifest));
  ASSIGN_OR_RETURN(index.table, OpenTable(absl::StrCat(directory, "/", kTableName), index.manifest));
  return index;
}

std::string DirectoryOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return path;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

}  // namespace

absl::StatusOr<OpenIndex> OpenIndexDirectory(const std::string& directory) {
  auto index = TryOpen(directory);
  for (int i = 1; i < kOpenAttempts && absl::IsDataLoss(index.status()); ++i) index = TryOpen(directory);
  return index;
}

absl::StatusOr<IndexManifest> ReadIndexManifest(const std::string& path) {
  ASSIGN_OR_RETURN(OpenIndex index, OpenIndexDirectory(DirectoryOf(path)));
  return std::move(index.manifest);
}

}  // namespace bucketvol
