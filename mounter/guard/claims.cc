#include "mounter/guard/claims.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "mounter/base/unique_fd.h"
#include "mounter/guard/small_file.h"

namespace bucketvol {
namespace {

constexpr size_t kClaimsLimit = 16 << 20;  // 4,096 mount points of the longest kind.

constexpr char kSource = 's';
constexpr char kMountPoint = 'm';
constexpr char kFading = 'f';

bool Has(const std::vector<std::string>& list, std::string_view one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

}  // namespace

bool Claims::HasMountPoint(std::string_view path) const { return Has(mount_points, path); }
bool Claims::HasSource(std::string_view name) const { return Has(sources, name); }

std::string EncodeClaims(const Claims& claims) {
  std::string out;
  const auto add = [&out](char kind, const std::string& text) { out += kind + text + '\0'; };
  if (claims.fading) add(kFading, "");
  for (const std::string& source : claims.sources) add(kSource, source);
  for (const std::string& path : claims.mount_points) add(kMountPoint, path);
  return out;
}

Claims DecodeClaims(std::string_view bytes) {
  Claims claims;
  for (size_t end; (end = bytes.find('\0')) != std::string_view::npos; bytes.remove_prefix(end + 1)) {
    const std::string_view entry = bytes.substr(0, end);
    if (entry.empty()) continue;
    if (entry[0] == kSource) claims.sources.emplace_back(entry.substr(1));
    if (entry[0] == kMountPoint) claims.mount_points.emplace_back(entry.substr(1));
    if (entry[0] == kFading) claims.fading = true;
  }
  return claims;
}

std::optional<Claims> ReadClaims(const std::string& run_directory) {
  const std::string bytes = ReadSmallFile(run_directory + kClaimsFiles[0], kClaimsLimit);
  if (bytes.empty()) return std::nullopt;
  return DecodeClaims(bytes);
}

Step WriteClaims(const std::string& run_directory, const Claims& claims) {
  const std::string path = run_directory + kClaimsFiles[0];
  const std::string unfinished = run_directory + kClaimsFiles[1];
  const std::string bytes = EncodeClaims(claims);
  const UniqueFd file(open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) return SystemFailure(errno, "open " + unfinished);
  const ssize_t written = write(file.get(), bytes.data(), bytes.size());
  if (written != static_cast<ssize_t>(bytes.size()))
    return SystemFailure(written < 0 ? errno : ENOSPC, "write " + unfinished);
  if (rename(unfinished.c_str(), path.c_str()) != 0) return SystemFailure(errno, "rename " + unfinished);
  return Nothing{};
}

}  // namespace bucketvol
