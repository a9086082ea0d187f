#include "mounter/base/log.h"

#include <unistd.h>

#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace bucketvol {
namespace {

LogSettings g_settings;  // Written once, before threads start.

absl::string_view Name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "?";
}

// Length of the valid UTF-8 sequence of two bytes or more at the front of `s`; 0 when there is none.
size_t Utf8SequenceLength(absl::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  size_t length = 0;
  if (byte(0) >= 0xC2 && byte(0) <= 0xDF)
    length = 2;
  else if (byte(0) >= 0xE0 && byte(0) <= 0xEF)
    length = 3;
  else if (byte(0) >= 0xF0 && byte(0) <= 0xF4)
    length = 4;
  if (length == 0 || s.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xED && byte(1) > 0x9F;
  const bool beyond = byte(0) == 0xF4 && byte(1) > 0x8F;
  const bool control = byte(0) == 0xC2 && byte(1) < 0xA0;  // C1 control characters.
  return overlong || surrogate || beyond || control ? 0 : length;
}

std::string JsonQuoted(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

}  // namespace

void SetLogging(const LogSettings& settings) { g_settings = settings; }

void Log(LogLevel level, absl::string_view message) {
  if (level < g_settings.level) return;
  const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", absl::Now(), absl::UTCTimeZone());
  const std::string text = Printable(message, 16 * 1024);
  std::string line;
  if (g_settings.format == LogFormat::kJson) {
    line = absl::StrCat("{\"time\":\"", time, "\",\"level\":\"", Name(level),
                        "\",\"message\":", JsonQuoted(text), "}\n");
  } else {
    line = absl::StrCat(time, " ", Name(level), " ", text, "\n");
  }
  [[maybe_unused]] const ssize_t written = write(g_settings.fd, line.data(), line.size());
}

std::string Printable(absl::string_view bytes, size_t limit) {
  std::string out;
  while (!bytes.empty()) {
    if (out.size() >= limit) return out + "…";
    const unsigned char c = static_cast<unsigned char>(bytes.front());
    const size_t sequence = Utf8SequenceLength(bytes);
    if (sequence > 0) {
      out.append(bytes.data(), sequence);
      bytes.remove_prefix(sequence);
      continue;
    }
    if (c >= 0x20 && c < 0x7f) {
      out.push_back(static_cast<char>(c));
    } else {
      absl::StrAppendFormat(&out, "\\x%02x", c);
    }
    bytes.remove_prefix(1);
  }
  return out;
}

}  // namespace bucketvol
