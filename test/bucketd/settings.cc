#include "test/bucketd/settings.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "mounter/base/status_macros.h"
#include "test/bucketd/units.h"

namespace bucketvol::bucketd {
namespace {

constexpr uint64_t kMegabyte = 1'000'000;

// First byte and list page as clients of the services measured them; the caps are what one connection gets.
const std::pair<absl::string_view, Profile> kProfiles[] = {
    {"zero", {}},
    {"oss", {absl::Milliseconds(35), 50 * kMegabyte, absl::Milliseconds(100), false}},
    {"s3", {absl::Milliseconds(16), 50 * kMegabyte, absl::Milliseconds(115), false}},
    {"express", {absl::Microseconds(1200), 200 * kMegabyte, absl::Milliseconds(50), false}},
    {"tail", {absl::Milliseconds(35), 50 * kMegabyte, absl::Milliseconds(100), true}},
};

absl::Status ApplyProfile(absl::string_view value, Settings& settings) {
  for (const auto& [name, profile] : kProfiles) {
    if (name != value) continue;
    settings.profile = profile;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown profile (zero, oss, s3, express or tail): ", value));
}

absl::Status ApplyFault(absl::string_view value, Settings& settings) {
  if (value == "none") {
    settings.faults.clear();
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::shared_ptr<FaultRule> rule, FaultRule::Parse(value));
  settings.faults.push_back(std::move(rule));
  return absl::OkStatus();
}

absl::Status ApplyDialect(absl::string_view value, Settings& settings) {
  if (value != "auto" && value != "oss" && value != "s3") {
    return absl::InvalidArgumentError(absl::StrCat("unknown dialect (auto, oss or s3): ", value));
  }
  settings.dialect = std::nullopt;
  if (value != "auto") settings.dialect = value == "oss" ? Dialect::kOss : Dialect::kS3;
  return absl::OkStatus();
}

absl::Status ApplyClockOffset(absl::string_view value, Settings& settings) {
  absl::string_view digits = value;
  const bool negative = absl::ConsumePrefix(&digits, "-");
  ASSIGN_OR_RETURN(settings.clock_offset, ParseDelay(digits));
  if (negative) settings.clock_offset = -settings.clock_offset;
  return absl::OkStatus();
}

absl::Status ApplyText(absl::string_view flag, absl::string_view value, Settings& settings) {
  if (flag == "access-key") {
    settings.credentials.access_key = std::string(value);
  } else if (flag == "secret-key") {
    settings.credentials.secret_key = Secret(std::string(value));
  } else if (flag == "session-token") {
    settings.credentials.session_token = Secret(std::string(value));
  } else if (flag == "region") {
    settings.region = std::string(value);
  } else {
    return absl::NotFoundError(absl::StrCat("unknown flag: ", flag));
  }
  return absl::OkStatus();
}

absl::Status ApplyOne(absl::string_view flag, absl::string_view value, Settings& settings) {
  if (flag == "profile") return ApplyProfile(value, settings);
  if (flag == "fault") return ApplyFault(value, settings);
  if (flag == "dialect") return ApplyDialect(value, settings);
  if (flag == "clock-offset") return ApplyClockOffset(value, settings);
  if (flag == "first-byte") {
    ASSIGN_OR_RETURN(settings.profile.first_byte, ParseDelay(value));
  } else if (flag == "list-page") {
    ASSIGN_OR_RETURN(settings.profile.list_page, ParseDelay(value));
  } else if (flag == "per-connection") {
    ASSIGN_OR_RETURN(settings.profile.per_connection, ParseRate(value));
  } else if (flag == "total") {
    ASSIGN_OR_RETURN(settings.total_rate, ParseRate(value));
  } else if (flag == "seed") {
    ASSIGN_OR_RETURN(settings.seed, ParseCount(value));
  } else {
    return ApplyText(flag, value, settings);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplySetting(absl::string_view flag, absl::string_view value, Settings& settings) {
  const absl::Status status = ApplyOne(flag, value, settings);
  return absl::IsNotFound(status) ? status : Annotate(status, absl::StrCat("--", flag));
}

absl::Status ApplyLines(absl::string_view lines, Settings& settings) {
  Settings changed = settings;
  for (absl::string_view line : absl::StrSplit(lines, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty()) continue;
    absl::ConsumePrefix(&line, "--");
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    RETURN_IF_ERROR(ApplySetting(pair.first, pair.second, changed));
  }
  settings = std::move(changed);
  return absl::OkStatus();
}

LiveSettings::LiveSettings(Settings settings, int workers)
    : cached_(static_cast<size_t>(workers)),
      total_rate_(settings.total_rate),
      current_(std::make_shared<const Settings>(std::move(settings))) {}

const Settings& LiveSettings::Get(int worker) {
  Cached& cached = cached_[static_cast<size_t>(worker)];
  if (cached.generation != generation_.load(std::memory_order_acquire)) {
    absl::MutexLock lock(&mu_);
    cached.settings = current_;
    cached.generation = generation_.load(std::memory_order_relaxed);
  }
  return *cached.settings;
}

absl::Status LiveSettings::Apply(absl::string_view lines) {
  absl::MutexLock lock(&mu_);
  Settings changed = *current_;
  RETURN_IF_ERROR(ApplyLines(lines, changed));
  total_rate_.store(changed.total_rate, std::memory_order_relaxed);
  current_ = std::make_shared<const Settings>(std::move(changed));
  generation_.fetch_add(1, std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace bucketvol::bucketd
