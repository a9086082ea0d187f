#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "test/objstore/store_fixture.h"

namespace bucketvol::testing {

/// The bucket "b" of the tests that run a real server.
inline constexpr char kSpec[] = "b:keys=2500,per-dir=100,size=100KB,name-bytes=20,shape=even,seed=1";

inline std::string FirstKey(BlockingStore& store) {
  const absl::StatusOr<ListPage> page = store.List();
  return page.ok() && !page->objects.empty() ? std::string(page->objects[0].key) : page.status().ToString();
}

/// The bytes that the server must give, by its own formula.
inline std::string Expected(const std::string& key, uint64_t offset, uint64_t length) {
  const std::string command = absl::StrCat(std::getenv("BUCKETVOL_BIN"), "/bucketd expect '", kSpec, "' '",
                                           key, "' ", offset, " ", length);
  FILE* const pipe = popen(command.c_str(), "r");
  std::string bytes(length + 1, '\0');
  bytes.resize(fread(bytes.data(), 1, bytes.size(), pipe));
  pclose(pipe);
  return bytes;
}

}  // namespace bucketvol::testing
