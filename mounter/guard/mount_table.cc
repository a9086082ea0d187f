#include "mounter/guard/mount_table.h"

#include <sys/sysmacros.h>

#include <charconv>

#include "mounter/guard/small_file.h"

namespace bucketvol {
namespace {

constexpr size_t kTableLimit = 64 << 20;  // 100,000 mounts of 640 bytes: more than kubelet ever makes.

std::string_view TakeUntil(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return taken;
}

bool ParseNumber(std::string_view text, uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

// Blank, tab, newline and backslash are written as \040, \011, \012, \134.
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && IsOctal(text[i + 1]) && IsOctal(text[i + 2]) &&
        IsOctal(text[i + 3])) {
      out.push_back(
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0')));
      i += 3;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// "36 35 98:0 /root /mnt rw,noatime shared:1 … - ext4 /dev/sda rw"
std::optional<MountEntry> ParseLine(std::string_view line) {
  MountEntry entry;
  uint64_t major_number = 0;
  uint64_t minor_number = 0;
  if (!ParseNumber(TakeUntil(line, ' '), entry.id)) return std::nullopt;
  TakeUntil(line, ' ');
  std::string_view device = TakeUntil(line, ' ');
  if (!ParseNumber(TakeUntil(device, ':'), major_number) || !ParseNumber(device, minor_number))
    return std::nullopt;
  entry.device = makedev(major_number, minor_number);
  TakeUntil(line, ' ');
  entry.mount_point = Unescape(TakeUntil(line, ' '));
  const size_t dash = line.find(" - ");
  if (dash == std::string_view::npos) return std::nullopt;
  line.remove_prefix(dash + 3);
  entry.type = TakeUntil(line, ' ');
  entry.source = Unescape(TakeUntil(line, ' '));
  return entry;
}

}  // namespace

std::vector<MountEntry> ParseMountInfo(std::string_view text) {
  std::vector<MountEntry> table;
  while (!text.empty()) {
    if (auto entry = ParseLine(TakeUntil(text, '\n'))) table.push_back(std::move(*entry));
  }
  return table;
}

std::vector<MountEntry> ReadMountTable() {
  return ParseMountInfo(ReadSmallFile("/proc/self/mountinfo", kTableLimit));
}

std::optional<MountEntry> TopMountAt(const std::vector<MountEntry>& table, std::string_view mount_point) {
  for (auto entry = table.rbegin(); entry != table.rend(); ++entry) {
    if (entry->mount_point == mount_point) return *entry;
  }
  return std::nullopt;
}

std::optional<MountEntry> MountWithId(const std::vector<MountEntry>& table, uint64_t id) {
  for (const MountEntry& entry : table) {
    if (entry.id == id) return entry;
  }
  return std::nullopt;
}

}  // namespace bucketvol
