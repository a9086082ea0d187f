#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace bucketvol {

/// Tells whether a file is still the one that was looked at, without reading it.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t modified_ns = 0;
  int64_t changed_ns = 0;  // Set by the kernel alone: no program can put it back.

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// NotFound and other errors of stat(2), naming the path. Follows symbolic links.
absl::StatusOr<FileIdentity> Identify(const std::string& path);

/// What a bundle holds, in its file "manifest": text, one line for each file.
struct BundleManifest {
  struct Entry {
    std::string name;
    std::string sha256;  // Hexadecimal.
    FileIdentity copy;
    std::string source;
    FileIdentity original;

    friend bool operator==(const Entry&, const Entry&) = default;
  };
  std::string boot;  // boot_id of the kernel under which the copies were last read whole.
  std::vector<Entry> entries;

  std::string Encode() const;
  /// InvalidArgument: damaged, or of another version.
  static absl::StatusOr<BundleManifest> Decode(absl::string_view text);
  /// Names the contents: equal for equal names and contents.
  std::string ContentHash() const;

  friend bool operator==(const BundleManifest&, const BundleManifest&) = default;
};

/// SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  ~Sha256();
  void Add(absl::string_view bytes);
  /// Once.
  std::string Hex();

 private:
  void* context_;  // EVP_MD_CTX
};

}  // namespace bucketvol
