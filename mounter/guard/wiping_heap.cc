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

void operator delete(void* memory) noexcept {
  if (memory != nullptr) explicit_bzero(memory, malloc_usable_size(memory));
  std::free(memory);
}

void operator delete(void* memory, size_t) noexcept { operator delete(memory); }
