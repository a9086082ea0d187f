#include "mounter/bundle/bundle_store.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/directory_lock.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {
namespace {

constexpr char kManifest[] = "manifest";
constexpr absl::string_view kUnfinished = ".new-";
constexpr size_t kManifestLimit = 1 << 20;
constexpr size_t kPiece = 256 * 1024;
// A bundle may be removed between its making and our hold on it.
constexpr int kAttempts = 5;

std::string BootId() {
  const auto id = ReadWholeFile("/proc/sys/kernel/random/boot_id", 64);
  return id.ok() ? std::string(absl::StripAsciiWhitespace(*id)) : "";
}

// Hands each piece of a file to `take`; its hash.
template <typename Take>
absl::StatusOr<std::string> ReadPieces(const std::string& path, const Take& take) {
  ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  Sha256 hash;
  std::string piece(kPiece, '\0');
  while (true) {
    const ssize_t got = read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoToStatus(errno, absl::StrCat("read ", path));
    if (got == 0) return hash.Hex();
    const absl::string_view bytes(piece.data(), static_cast<size_t>(got));
    hash.Add(bytes);
    RETURN_IF_ERROR(take(bytes));
  }
}

absl::StatusOr<std::string> HashOf(const std::string& path) {
  return ReadPieces(path, [](absl::string_view) { return absl::OkStatus(); });
}

absl::StatusOr<std::string> Copy(const std::string& from, const std::string& to) {
  // Programs and libraries are read and run by their owner alone.
  ASSIGN_OR_RETURN(const UniqueFd out, OpenFile(to, O_WRONLY | O_CREAT | O_EXCL, 0500));
  uint64_t offset = 0;
  return ReadPieces(from, [&](absl::string_view bytes) {
    absl::Status status = WriteAllAt(out.get(), bytes, offset, to);
    offset += bytes.size();
    return status;
  });
}

absl::StatusOr<BundleManifest> CopyAll(const std::vector<BundleFile>& files, const std::string& directory) {
  BundleManifest manifest;
  manifest.boot = BootId();
  for (const BundleFile& file : files) {
    BundleManifest::Entry entry;
    entry.name = file.name;
    entry.source = file.source;
    // Looked at before it is read: a change while it is copied then shows as a change.
    ASSIGN_OR_RETURN(entry.original, Identify(file.source));
    const std::string copy = absl::StrCat(directory, "/", file.name);
    ASSIGN_OR_RETURN(entry.sha256, Copy(file.source, copy));
    ASSIGN_OR_RETURN(const std::string written, HashOf(copy));
    if (written != entry.sha256) return absl::DataLossError(absl::StrCat("copy differs from ", file.source));
    ASSIGN_OR_RETURN(entry.copy, Identify(copy));
    manifest.entries.push_back(std::move(entry));
  }
  return manifest;
}

absl::Status WriteManifest(const BundleManifest& manifest, const std::string& directory) {
  return WriteFileAtomically(absl::StrCat(directory, "/", kManifest), manifest.Encode());
}

bool IsMadeFrom(const BundleManifest& manifest, const std::vector<BundleFile>& files) {
  if (manifest.entries.size() != files.size()) return false;
  for (size_t i = 0; i < files.size(); ++i) {
    const BundleManifest::Entry& entry = manifest.entries[i];
    const auto now = Identify(files[i].source);
    if (entry.name != files[i].name || entry.source != files[i].source || !now.ok() || *now != entry.original)
      return false;
  }
  return true;
}

void RemoveTree(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

absl::StatusOr<Bundle> Hold(const std::string& directory) {
  UniqueFd lock;
  if (const int error = HoldDirectory(directory, lock)) return ErrnoToStatus(error, directory);
  return Bundle(directory, std::move(lock));
}

}  // namespace

BundleStore::BundleStore(const std::string& state_dir) : directory_(state_dir + "/bundle") {}

absl::Status BundleStore::Prepare() const {
  RETURN_IF_ERROR(MakeDirectories(directory_));
  struct statvfs system;
  if (statvfs(directory_.c_str(), &system) != 0) return ErrnoToStatus(errno, directory_);
  if ((system.f_flag & ST_NOEXEC) == 0) return absl::OkStatus();
  if (mount("bucketvol", directory_.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") == 0)
    return absl::OkStatus();
  return ErrnoToStatus(errno, absl::StrCat("mount a place for programs at ", directory_));
}

absl::StatusOr<Bundle> BundleStore::Provide(const std::vector<BundleFile>& files) const {
  RETURN_IF_ERROR(Prepare());
  if (auto found = Find(files); found.ok()) return found;
  absl::StatusOr<Bundle> made = Make(files);
  for (int attempt = 1; attempt < kAttempts && absl::IsNotFound(made.status()); ++attempt) made = Make(files);
  return made;
}

absl::StatusOr<Bundle> BundleStore::Find(const std::vector<BundleFile>& files) const {
  for (const std::string& name : NamesIn(directory_)) {
    if (absl::StartsWith(name, kUnfinished)) continue;
    auto bundle = Hold(absl::StrCat(directory_, "/", name));
    if (!bundle.ok()) continue;
    const auto text = ReadWholeFile(absl::StrCat(bundle->directory(), "/", kManifest), kManifestLimit);
    if (!text.ok()) continue;
    const auto manifest = BundleManifest::Decode(*text);
    if (manifest.ok() && IsMadeFrom(*manifest, files) && Verify(bundle->directory()).ok()) return bundle;
  }
  return absl::NotFoundError("no bundle of these programs");
}

absl::StatusOr<BundleManifest> BundleStore::Verify(const std::string& directory) const {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadWholeFile(absl::StrCat(directory, "/", kManifest), kManifestLimit));
  ASSIGN_OR_RETURN(BundleManifest manifest, BundleManifest::Decode(text));
  const bool same_boot = manifest.boot == BootId();
  for (BundleManifest::Entry& entry : manifest.entries) {
    const std::string path = absl::StrCat(directory, "/", entry.name);
    ASSIGN_OR_RETURN(const FileIdentity now, Identify(path));
    if (same_boot && now == entry.copy) continue;
    ASSIGN_OR_RETURN(const std::string hash, HashOf(path));
    if (hash != entry.sha256)
      return absl::DataLossError(absl::StrCat("file of a bundle was changed: ", path));
    entry.copy = now;
  }
  manifest.boot = BootId();
  if (const std::string now = manifest.Encode(); now != text)
    RETURN_IF_ERROR(WriteManifest(manifest, directory));
  return manifest;
}

absl::StatusOr<Bundle> BundleStore::Make(const std::vector<BundleFile>& files) const {
  std::string unfinished = absl::StrCat(directory_, "/", kUnfinished, "XXXXXX");
  if (mkdtemp(unfinished.data()) == nullptr) return ErrnoToStatus(errno, absl::StrCat("make ", unfinished));
  absl::Cleanup remove = [&] { RemoveTree(unfinished); };
  // Whoever collects meanwhile leaves it alone.
  ASSIGN_OR_RETURN(Bundle held, Hold(unfinished));
  ASSIGN_OR_RETURN(BundleManifest manifest, CopyAll(files, unfinished));
  const std::string directory = absl::StrCat(directory_, "/", manifest.ContentHash().substr(0, 32));
  // The same contents from elsewhere: it learns where they come from now.
  if (auto bundle = Hold(directory); bundle.ok()) {
    if (const auto old = Verify(directory); old.ok()) {
      for (size_t i = 0; i < manifest.entries.size(); ++i) manifest.entries[i].copy = old->entries[i].copy;
      RETURN_IF_ERROR(WriteManifest(manifest, directory));
      return bundle;
    }
    // Damaged, and perhaps in use: whoever runs from it keeps its files, under another name.
    const std::string aside = absl::StrCat(unfinished, ".damaged");
    if (rename(directory.c_str(), aside.c_str()) != 0) return ErrnoToStatus(errno, directory);
  }
  RETURN_IF_ERROR(WriteManifest(manifest, unfinished));
  if (rename(unfinished.c_str(), directory.c_str()) != 0) {
    // Somebody else was faster.
    if (errno != ENOTEMPTY && errno != EEXIST)
      return ErrnoToStatus(errno, absl::StrCat("publish ", directory));
    return Hold(directory);
  }
  std::move(remove).Cancel();
  return Hold(directory);
}

void BundleStore::Collect(const std::string& keep) const {
  for (const std::string& name : NamesIn(directory_)) {
    const std::string directory = absl::StrCat(directory_, "/", name);
    if (directory == keep) continue;
    const UniqueFd seized = SeizeDirectory(directory);
    if (seized.valid()) RemoveTree(directory);
  }
}

}  // namespace bucketvol
