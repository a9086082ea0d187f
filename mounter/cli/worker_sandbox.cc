#include "mounter/cli/worker_sandbox.h"

#include <string>

#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/index_store.h"
#include "mounter/sandbox/sandbox.h"

namespace bucketvol {

absl::Status EnterWorkerSandbox(const VolumeSpec& spec) {
  SandboxSettings settings;
  settings.writable_directories = {IndexStore::DirectoryOf(spec.options.state_dir)};
  RETURN_IF_ERROR(MakeDirectories(settings.writable_directories[0]));
  for (const std::string& file : {spec.options.ca_file, spec.credentials.file_path}) {
    if (!file.empty()) settings.readable_files.push_back(file);
  }
  return EnterSandbox(settings);
}

}  // namespace bucketvol
