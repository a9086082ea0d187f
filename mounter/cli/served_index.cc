#include "mounter/cli/served_index.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {
namespace {

constexpr size_t kLegacyFiles = 3;  // Manifest, table, use lock.
constexpr size_t kMaxManifestBytes = 4 << 20;

absl::StatusOr<IndexManifest> ReadManifest(const UniqueFd& file) {
  struct stat info;
  if (fstat(file.get(), &info) != 0) return ErrnoToStatus(errno, "stat the manifest");
  std::string bytes(std::min<size_t>(static_cast<size_t>(info.st_size), kMaxManifestBytes), '\0');
  RETURN_IF_ERROR(ReadExactlyAt(file.get(), absl::MakeSpan(bytes), 0, "manifest"));
  return DecodeIndexManifest(bytes);
}

}  // namespace

std::string ServedIndex::meta_path() const { return absl::StrCat(lease_.directory(), "/", kMetaName); }

std::vector<int> ServedIndex::Legacy() const {
  return {manifest_file_.get(), table_file_.get(), lease_.use_lock().get()};
}

absl::StatusOr<ServedIndex> ServedIndex::Open(IndexManifest manifest, IndexLease lease) {
  ServedIndex index(std::move(manifest), std::move(lease));
  const std::string& directory = index.lease_.directory();
  const std::string table = absl::StrCat(directory, "/", kTableName);
  ASSIGN_OR_RETURN(index.meta_, OpenFile(index.meta_path(), O_RDONLY));
  ASSIGN_OR_RETURN(index.manifest_file_, OpenFile(absl::StrCat(directory, "/", kManifestName), O_RDONLY));
  ASSIGN_OR_RETURN(index.table_file_, OpenFile(table, O_RDONLY));
  ASSIGN_OR_RETURN(index.table_, ObjectTable::Open(index.table_file_, table));
  return index;
}

absl::StatusOr<ServedIndex> ServedIndex::Inherit(const std::string& meta_path, std::vector<UniqueFd> legacy) {
  if (legacy.size() < kLegacyFiles) return absl::FailedPreconditionError("the first worker left no index");
  ASSIGN_OR_RETURN(IndexManifest manifest, ReadManifest(legacy[0]));
  const std::string directory = meta_path.substr(0, meta_path.rfind('/'));
  ServedIndex index(std::move(manifest), IndexLease::Join(directory, std::move(legacy[2])));
  index.manifest_file_ = std::move(legacy[0]);
  index.table_file_ = std::move(legacy[1]);
  ASSIGN_OR_RETURN(index.table_,
                   ObjectTable::Open(index.table_file_, absl::StrCat(directory, "/", kTableName)));
  if (index.table_->build_id() != index.manifest_.build_id) {
    return absl::DataLossError("manifest and object table that the first worker left are of two builds");
  }
  return index;
}

}  // namespace bucketvol
