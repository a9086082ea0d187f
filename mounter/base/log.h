#pragma once

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace bucketvol {

enum class LogLevel { kDebug, kInfo, kWarning, kError };
enum class LogFormat { kText, kJson };

struct LogSettings {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kText;
  int fd = 2;  // Borrowed; stays open for the life of the process.
};

/// Sets how this process logs. Call once from main, before other threads start.
void SetLogging(const LogSettings& settings);

/// Writes one line with time and level, by a single write(2): lines of several threads do not mix. Control
/// bytes in the message are escaped, so that a hostile key cannot forge a line. Never blocks on a lock; a
/// failed write is dropped. Secrets must not reach it.
void Log(LogLevel level, absl::string_view message);

template <typename... Parts>
void LogDebug(const Parts&... parts) {
  Log(LogLevel::kDebug, absl::StrCat(parts...));
}
template <typename... Parts>
void LogInfo(const Parts&... parts) {
  Log(LogLevel::kInfo, absl::StrCat(parts...));
}
template <typename... Parts>
void LogWarning(const Parts&... parts) {
  Log(LogLevel::kWarning, absl::StrCat(parts...));
}
template <typename... Parts>
void LogError(const Parts&... parts) {
  Log(LogLevel::kError, absl::StrCat(parts...));
}

/// Renders bytes for a message: printable ASCII and valid UTF-8 as they are, everything else as \xNN, cut to
/// `limit` bytes.
std::string Printable(absl::string_view bytes, size_t limit = 256);

}  // namespace bucketvol
