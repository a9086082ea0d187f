#include "mounter/guard/secret_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace bucketvol {

SecretPages::SecretPages(std::string_view bytes) : size_(bytes.size()) {
  if (bytes.empty()) return;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  mapped_ = (size_ + page - 1) / page * page;
  void* pages = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) std::abort();
  // Each of these is the best that the system allows, none a condition.
  mlock(pages, mapped_);
  madvise(pages, mapped_, MADV_DONTDUMP);
  madvise(pages, mapped_, MADV_DONTFORK);
  data_ = static_cast<char*>(pages);
  std::memcpy(data_, bytes.data(), size_);
}

SecretPages::SecretPages(SecretPages&& other) noexcept { *this = std::move(other); }

SecretPages& SecretPages::operator=(SecretPages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

SecretPages::~SecretPages() {
  if (data_ == nullptr) return;
  explicit_bzero(data_, mapped_);
  munmap(data_, mapped_);
}

void Wipe(std::string& text) {
  explicit_bzero(text.data(), text.capacity());
  text.clear();
}

}  // namespace bucketvol
