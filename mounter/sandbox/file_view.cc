#include "mounter/sandbox/file_view.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/status_macros.h"
#include "mounter/sandbox/mount_tree.h"

namespace bucketvol {
namespace {

constexpr uint64_t kInert = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
constexpr uint64_t kReadOnly = kInert | MOUNT_ATTR_RDONLY;
// Modules of name lookup are loaded when they are needed.
constexpr uint64_t kLibraries = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY;
constexpr uint64_t kDevice = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;

// Where distributions keep certificates, and what resolv.conf may be a link into.
constexpr const char* kSystemDirectories[] = {"/etc",
                                              "/usr/local/share/ca-certificates",
                                              "/usr/share/ca-certificates",
                                              "/usr/share/pki",
                                              "/var/lib/ca-certificates",
                                              "/run/systemd/resolve",
                                              "/run/resolvconf",
                                              "/run/NetworkManager",
                                              "/run/nscd",
                                              "/var/run/nscd",
                                              "/sys/devices/system/cpu"};
constexpr const char* kLibraryDirectories[] = {"/lib",     "/lib32",     "/lib64",
                                               "/usr/lib", "/usr/lib32", "/usr/lib64"};
// A container's runtime mounts these one by one over its /etc.
constexpr const char* kSystemFiles[] = {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"};
// /etc is shown whole, because its files are replaced by rename. Nobody needs these to look up a name.
constexpr const char* kSecrets[] = {
    "/etc/shadow",    "/etc/shadow-", "/etc/gshadow",       "/etc/gshadow-",       "/etc/sudoers",
    "/etc/sudoers.d", "/etc/ssh",     "/etc/ssl/private",   "/etc/kubernetes",     "/etc/cni",
    "/etc/wireguard", "/etc/ipsec.d", "/etc/ipsec.secrets", "/etc/NetworkManager", "/etc/krb5.keytab"};

std::string DirectoryOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

std::string Resolved(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string out = resolved;
  free(resolved);
  return out;
}

// Whether `path` is itself a mount, which its directory does not show.
bool IsMounted(const std::string& path) {
  struct statx file;
  struct statx directory;
  return statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, STATX_MNT_ID, &file) == 0 &&
         statx(AT_FDCWD, DirectoryOf(path).c_str(), 0, STATX_MNT_ID, &directory) == 0 &&
         file.stx_mnt_id != directory.stx_mnt_id;
}

/// Paths with the attributes that they are shown with, parents first.
class Plan {
 public:
  void Add(const std::string& path, uint64_t attributes) { places_.emplace(path, attributes); }
  void AddFile(const std::string& path) {
    // The root itself is never shown.
    if (DirectoryOf(path) == "/" || IsMounted(path)) Add(path, kReadOnly);
    if (DirectoryOf(path) != "/") Add(DirectoryOf(path), kReadOnly);
  }
  /// A directory is shown without the mounts below it: adds those on the way to another place.
  void AddMountsBetween() {
    const std::map<std::string, uint64_t> wanted = places_;
    for (const auto& [path, attributes] : wanted) {
      bool inside = false;
      for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
        const std::string above = path.substr(0, slash);
        if (inside && IsMounted(above)) Add(above, kReadOnly);
        inside |= places_.count(above) > 0;
      }
    }
  }
  const std::map<std::string, uint64_t>& places() const { return places_; }

 private:
  std::map<std::string, uint64_t> places_;
};

Plan PlanOf(const SandboxSettings& settings) {
  Plan plan;
  for (const std::string& directory : settings.writable_directories) plan.Add(directory, kInert);
  for (const std::string& directory : settings.readable_directories) plan.Add(directory, kLibraries);
  for (const std::string& file : settings.readable_files) {
    plan.AddFile(file);
    plan.AddFile(Resolved(file));
  }
  for (const char* file : kSystemFiles) plan.AddFile(file);
  for (const char* directory : kSystemDirectories) plan.Add(directory, kReadOnly);
  for (const char* device : {"/dev/fuse", "/dev/null", "/dev/urandom"}) plan.Add(device, kDevice);
  return plan;
}

// /lib is a link into /usr on most systems.
absl::Status ShowLibraries(MountTree& tree) {
  for (const char* path : kLibraryDirectories) {
    char target[256];
    const ssize_t size = readlink(path, target, sizeof target);
    absl::Status status = size > 0 ? tree.Link(path, std::string(target, static_cast<size_t>(size)))
                                   : tree.Show(path, kLibraries);
    if (!status.ok() && !absl::IsNotFound(status)) return status;
  }
  return absl::OkStatus();
}

absl::Status MustExist(const std::string& directory) {
  struct stat info;
  return stat(directory.c_str(), &info) == 0 ? absl::OkStatus() : ErrnoToStatus(errno, directory);
}

absl::Status BuildView(const SandboxSettings& settings) {
  for (const std::string& directory : settings.writable_directories) RETURN_IF_ERROR(MustExist(directory));
  const Plan plan = PlanOf(settings);
  ASSIGN_OR_RETURN(MountTree tree, MountTree::Make());
  for (const auto& [path, attributes] : plan.places()) {
    absl::Status status = tree.Show(path, attributes);
    const bool must_be_there = (attributes & MOUNT_ATTR_RDONLY) == 0 && attributes != kDevice;
    if (!status.ok() && (must_be_there || !absl::IsNotFound(status))) return status;
  }
  RETURN_IF_ERROR(ShowLibraries(tree));
  for (const char* path : kSecrets) RETURN_IF_ERROR(tree.Hide(path));
  // Only sanitizers and debuggers miss it.
  (void)tree.ShowProc().ok();
  return tree.Enter();
}

}  // namespace

absl::Status NarrowFileView(const SandboxSettings& settings) {
  return Annotate(BuildView(settings), "narrow the worker's view of files");
}

}  // namespace bucketvol
