// In the guard, memory is overwritten when it is freed: secrets pass through messages and strings, and every
// copy of them ends with it. Linked into the guard's program only, which allocates little and seldom.

#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <new>

void* operator new(size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}

// The other forms are the library's and call these, but a sanitizer's do not: whatever is freed below has to
// come from here, also what the library's algorithms use as temporary memory.
void* operator new(size_t size, const std::nothrow_t&) noexcept { return operator new(size); }
void* operator new[](size_t size) { return operator new(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return operator new(size); }

void operator delete(void* memory) noexcept {
  if (memory != nullptr) explicit_bzero(memory, malloc_usable_size(memory));
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { operator delete(memory); }
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete[](void* memory, size_t) noexcept { operator delete(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { operator delete(memory); }
