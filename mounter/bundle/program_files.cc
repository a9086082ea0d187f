#include "mounter/bundle/program_files.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "mounter/base/file.h"

namespace bucketvol {
namespace {

constexpr size_t kSwitchFileLimit = 64 * 1024;
// Where distributions keep the certificates in one file (Debian, Fedora, SUSE, Alpine).
constexpr const char* kCertificateFiles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                             "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                             "/etc/ssl/cert.pem"};

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

int AddLibrary(dl_phdr_info* info, size_t, void* out) {
  const std::string path = info->dlpi_name;
  if (absl::StartsWith(path, "/")) static_cast<std::set<std::string>*>(out)->insert(path);
  return 0;
}

// The kernel started this process by its loader, whose path is in the program's header.
std::string LoaderPath() {
  std::string loader;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          if (info->dlpi_phdr[i].p_type != PT_INTERP) continue;
          const auto at = static_cast<uintptr_t>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
          // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader tells places as numbers.
          *static_cast<std::string*>(out) = reinterpret_cast<const char*>(at);
          return 1;
        }
        return 0;
      },
      &loader);
  return loader;
}

// files and dns are part of libc. Loading a module brings in what it needs itself.
void LoadNameLookup() {
  const auto text = ReadWholeFile("/etc/nsswitch.conf", kSwitchFileLimit);
  for (absl::string_view line : absl::StrSplit(text.value_or(""), '\n')) {
    if (!absl::ConsumePrefix(&line, "hosts:")) continue;
    for (const absl::string_view word : absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty())) {
      if (absl::ascii_isalpha(static_cast<unsigned char>(word[0])))
        dlopen(absl::StrCat("libnss_", word, ".so.2").c_str(), RTLD_LAZY | RTLD_LOCAL);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<BundleFile>> ProgramFiles(const std::string& program_directory) {
  std::vector<BundleFile> files;
  for (const char* program : {"bucketvol", "bucketvol-guard"})
    files.push_back({absl::StrCat(program_directory, "/", program), program});
  const std::string loader = LoaderPath();
  if (loader.empty()) return absl::FailedPreconditionError("program was not started by a loader");
  files.push_back({loader, kBundleLoader});
  LoadNameLookup();
  std::set<std::string> libraries;
  dl_iterate_phdr(AddLibrary, &libraries);
  for (const std::string& library : libraries) {
    if (BaseName(library) != BaseName(loader) && BaseName(library) != kBundleLoader)
      files.push_back({library, BaseName(library)});
  }
  for (const char* certificates : kCertificateFiles) {
    if (access(certificates, R_OK) != 0) continue;
    files.push_back({certificates, kBundleCertificates});
    break;
  }
  return files;
}

}  // namespace bucketvol
