#include "test/bench/load/open_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "absl/strings/str_cat.h"

namespace bucketvol::bench {

Mapping::Mapping(int file) {
  struct stat status;
  if (fstat(file, &status) != 0 || status.st_size == 0) return;
  const auto size = static_cast<size_t>(status.st_size);
  void* const memory = mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0);
  if (memory != MAP_FAILED) bytes_ = {static_cast<const char*>(memory), size};
}

Mapping::~Mapping() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

UniqueFd OpenFile(const LoadJob& job, uint32_t file) {
  const std::string path = absl::StrCat(job.directory, "/", job.files[file]);
  const int direct = job.style == ReadStyle::kDirect ? O_DIRECT : 0;
  return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC | direct));
}

void OpenFiles::OpenAll() {
  most_ = files_.size();
  for (uint32_t file = 0; file < files_.size(); ++file) {
    Descriptor(file);
    if (job_.style == ReadStyle::kMmap) Mapped(file);
  }
}

int OpenFiles::Descriptor(uint32_t file) {
  UniqueFd& fd = files_[file].fd;
  if (fd.valid()) return fd.get();
  if (opened_ == most_) {
    for (File& kept : files_) kept = File{};
    opened_ = 0;
  }
  fd = OpenFile(job_, file);
  opened_ += fd.valid() ? 1 : 0;
  return fd.get();
}

absl::Span<const char> OpenFiles::Mapped(uint32_t file) {
  std::vector<Mapping>& mapping = files_[file].mapping;
  if (mapping.empty()) mapping.emplace_back(Descriptor(file));
  return mapping.front().bytes();
}

}  // namespace bucketvol::bench
