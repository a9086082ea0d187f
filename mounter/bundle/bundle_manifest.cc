#include "mounter/bundle/bundle_manifest.h"

#include <openssl/evp.h>
#include <sys/stat.h>

#include <cerrno>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/base/errno_status.h"

namespace bucketvol {
namespace {

constexpr char kFirstLine[] = "bucketvol bundle 1";
// Columns of a line: name, hash, two identities of five numbers, and the source, which may hold blanks.
constexpr size_t kColumns = 13;

std::string Numbers(const FileIdentity& file) {
  return absl::StrCat(file.device, " ", file.inode, " ", file.size, " ", file.modified_ns, " ",
                      file.changed_ns);
}

bool ParseIdentity(const std::vector<std::string>& columns, size_t first, FileIdentity& file) {
  return absl::SimpleAtoi(columns[first], &file.device) &&
         absl::SimpleAtoi(columns[first + 1], &file.inode) &&
         absl::SimpleAtoi(columns[first + 2], &file.size) &&
         absl::SimpleAtoi(columns[first + 3], &file.modified_ns) &&
         absl::SimpleAtoi(columns[first + 4], &file.changed_ns);
}

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec; }

}  // namespace

absl::StatusOr<FileIdentity> Identify(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoToStatus(errno, path);
  return FileIdentity{info.st_dev, info.st_ino, static_cast<uint64_t>(info.st_size),
                      Nanoseconds(info.st_mtim), Nanoseconds(info.st_ctim)};
}

std::string BundleManifest::Encode() const {
  std::string text = absl::StrCat(kFirstLine, "\n", boot, "\n");
  for (const Entry& entry : entries) {
    absl::StrAppend(&text, entry.name, " ", entry.sha256, " ", Numbers(entry.copy), " ",
                    Numbers(entry.original), " ", entry.source, "\n");
  }
  return text;
}

absl::StatusOr<BundleManifest> BundleManifest::Decode(absl::string_view text) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (lines.size() < 3 || lines[0] != kFirstLine || !lines.back().empty())
    return absl::InvalidArgumentError("manifest of a bundle is damaged or of another version");
  BundleManifest manifest;
  manifest.boot = lines[1];
  for (size_t i = 2; i + 1 < lines.size(); ++i) {
    const std::vector<std::string> columns = absl::StrSplit(lines[i], absl::MaxSplits(' ', kColumns - 1));
    Entry entry;
    if (columns.size() != kColumns || !ParseIdentity(columns, 2, entry.copy) ||
        !ParseIdentity(columns, 7, entry.original)) {
      return absl::InvalidArgumentError(absl::StrCat("manifest of a bundle is damaged in line ", i + 1));
    }
    entry.name = columns[0];
    entry.sha256 = columns[1];
    entry.source = columns[kColumns - 1];
    manifest.entries.push_back(std::move(entry));
  }
  return manifest;
}

std::string BundleManifest::ContentHash() const {
  Sha256 hash;
  for (const Entry& entry : entries) hash.Add(absl::StrCat(entry.name, " ", entry.sha256, "\n"));
  return hash.Hex();
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_sha256(), nullptr);
}

Sha256::~Sha256() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void Sha256::Add(absl::string_view bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size());
}

std::string Sha256::Hex() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), digest, &size);
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(digest), size));
}

}  // namespace bucketvol
