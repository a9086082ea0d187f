#include "mounter/cli/worker_settings.h"

#include "absl/strings/str_cat.h"

namespace bucketvol {

ReaderSettings ReaderSettingsOf(const VolumeOptions& options, uint64_t memory_budget) {
  ReaderSettings settings;
  settings.bucket_url =
      absl::StrCat(options.source.provider == Provider::kOss ? "oss://" : "s3://", options.source.bucket);
  settings.caching = options.direct_mode ? Caching::kOff : Caching::kOn;
  settings.memory_bytes = memory_budget;
  return settings;
}

LogLevel LogLevelOf(absl::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  return name == "error" ? LogLevel::kError : LogLevel::kInfo;
}

}  // namespace bucketvol
