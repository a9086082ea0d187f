#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace bucketvol {

/// Bytes that hold secrets, on pages of their own: not swapped out (as far as the process may lock memory),
/// not in a core file, not in the children that the process forks. Overwritten before they are given back.
class SecretPages {
 public:
  SecretPages() = default;
  /// Copies `bytes`; aborts the process when there is no memory.
  explicit SecretPages(std::string_view bytes);
  SecretPages(SecretPages&& other) noexcept;
  SecretPages& operator=(SecretPages&& other) noexcept;
  ~SecretPages();

  std::string_view bytes() const { return {data_, size_}; }

 private:
  char* data_ = nullptr;
  size_t size_ = 0;
  size_t mapped_ = 0;
};

/// Overwrites what a string holds, and empties it. The compiler cannot leave it out.
void Wipe(std::string& text);

}  // namespace bucketvol
