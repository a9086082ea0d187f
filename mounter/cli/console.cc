#include "mounter/cli/console.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mounter/base/log.h"

namespace bucketvol {
namespace {

void WriteAll(int fd, absl::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

std::string ShortCount(uint64_t count) {
  if (count < 10'000) return absl::StrCat(count);
  if (count < 1'000'000) return absl::StrFormat("%.1f k", static_cast<double>(count) / 1e3);
  return absl::StrFormat("%.1f M", static_cast<double>(count) / 1e6);
}

std::string ShortBytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

std::string ProgressText(const ProgressBody& progress) {
  if (progress.of_another != 0) {
    const std::string keys =
        progress.keys > 0 ? absl::StrCat(": ", ShortCount(progress.keys), " keys listed") : "";
    return absl::StrCat("another mount builds this index", keys);
  }
  std::string text = absl::StrCat("listed ", ShortCount(progress.keys), " keys");
  if (progress.elapsed_ms < 500) return text;
  const uint64_t rate = progress.keys * 1000 / progress.elapsed_ms;
  absl::StrAppend(&text, ", ", ShortCount(rate), "/s");
  if (progress.streams > 0) absl::StrAppend(&text, ", ", progress.streams, " requests in flight");
  if (rate > 0 && progress.expected_keys > progress.keys) {
    absl::StrAppend(&text, ", about ", (progress.expected_keys - progress.keys) / rate + 1, " s left");
  }
  return text;
}

Console::Console() : terminal_(isatty(STDERR_FILENO) == 1) {}

Console::~Console() { Wipe(); }

void Console::Progress(const ProgressBody& progress) {
  if (!terminal_) return;
  WriteAll(STDERR_FILENO, absl::StrCat("\r\033[K", ProgressText(progress)));
  progress_shown_ = true;
}

void Console::Warn(absl::string_view text) { Line("warning: ", text); }

void Console::Fail(absl::string_view text) { Line("", text); }

void Console::Line(absl::string_view kind, absl::string_view text) {
  Wipe();
  WriteAll(STDERR_FILENO, absl::StrCat("bucketvol: ", kind, Printable(text, 4096), "\n"));
}

void Console::Wipe() {
  if (progress_shown_) WriteAll(STDERR_FILENO, "\r\033[K");
  progress_shown_ = false;
}

void Print(absl::string_view text) { WriteAll(STDOUT_FILENO, text); }

}  // namespace bucketvol
