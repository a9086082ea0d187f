#include "mounter/cli/worker_sandbox.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/bundle/program_files.h"
#include "mounter/cli/index_store.h"
#include "mounter/sandbox/sandbox.h"

namespace bucketvol {
namespace {

// Where Debian's libcurl looks.
constexpr char kSystemCertificates[] = "/etc/ssl/certs/ca-certificates.crt";

std::string ProgramDirectory() {
  char program[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", program, sizeof program);
  const std::string path(program, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return path.substr(0, path.rfind('/'));
}

}  // namespace

void ChooseCertificates(VolumeOptions& options) {
  const std::string bundled = absl::StrCat(ProgramDirectory(), "/", kBundleCertificates);
  if (!options.ca_file.empty() || access(kSystemCertificates, R_OK) == 0) return;
  if (access(bundled.c_str(), R_OK) == 0) options.ca_file = bundled;
}

absl::Status EnterWorkerSandbox(const VolumeSpec& spec) {
  SandboxSettings settings;
  settings.writable_directories = {IndexStore::DirectoryOf(spec.options.state_dir)};
  RETURN_IF_ERROR(MakeDirectories(settings.writable_directories[0]));
  // Modules of name lookup are loaded from there.
  settings.readable_directories.push_back(ProgramDirectory());
  for (const std::string& file : {spec.options.ca_file, spec.credentials.file_path}) {
    if (!file.empty()) settings.readable_files.push_back(file);
  }
  return EnterSandbox(settings);
}

}  // namespace bucketvol
