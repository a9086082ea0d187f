#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace bucketvol {

/// A file that a bundle holds: what it is copied from, and what it is called there.
struct BundleFile {
  std::string source;
  std::string name;
};

/// The name of the loader (ld.so) in a bundle. The kernel shows it as the process's name until the program
/// has set its own.
inline constexpr char kBundleLoader[] = "bucketvol-ld.so";
inline constexpr char kBundleCertificates[] = "ca-certificates.crt";

/// Everything that the programs of `program_directory` need to run: both programs, the loader and the shared
/// libraries of this process (which must be one of them), the modules of name lookup that /etc/nsswitch.conf
/// names, and the system's certificates.
absl::StatusOr<std::vector<BundleFile>> ProgramFiles(const std::string& program_directory);

}  // namespace bucketvol
