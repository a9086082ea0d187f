#include "mounter/cgroup/usage.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "mounter/cgroup/control_file.h"

namespace bucketvol {
namespace {

void SetIf(const std::optional<uint64_t>& value, uint64_t& out, uint64_t divisor = 1) {
  if (value) out = *value / divisor;
}

// "QUOTA PERIOD"; the quota may be "max".
void ReadQuota(const std::string& directory, CgroupUsage& usage) {
  const std::vector<std::string> words = absl::StrSplit(ReadControlFile(directory + "/cpu.max"), ' ');
  uint64_t quota = 0;
  uint64_t period = 0;
  if (words.size() == 2 && absl::SimpleAtoi(words[0], &quota) && absl::SimpleAtoi(words[1], &period) &&
      period > 0)
    usage.cpu_limit_milli = quota * 1000 / period;
}

void ReadVersion2(const std::string& directory, CgroupUsage& usage) {
  SetIf(ReadControlNumber(directory + "/memory.max"), usage.memory_limit);
  SetIf(ReadControlNumber(directory + "/memory.current"), usage.memory_used);
  SetIf(ReadControlNumber(directory + "/memory.peak"), usage.memory_peak);
  SetIf(ReadControlField(directory + "/memory.events", "oom_kill"), usage.memory_kills);
  ReadQuota(directory, usage);
  SetIf(ReadControlField(directory + "/cpu.stat", "usage_usec"), usage.cpu_usec);
  SetIf(ReadControlField(directory + "/cpu.stat", "throttled_usec"), usage.throttled_usec);
}

void ReadVersion1(const std::string& directory, CgroupUsage& usage) {
  SetIf(ReadControlNumber(directory + "/memory.limit_in_bytes"), usage.memory_limit);
  SetIf(ReadControlNumber(directory + "/memory.usage_in_bytes"), usage.memory_used);
  SetIf(ReadControlNumber(directory + "/memory.max_usage_in_bytes"), usage.memory_peak);
  SetIf(ReadControlField(directory + "/memory.oom_control", "oom_kill"), usage.memory_kills);
  const auto quota = ReadControlNumber(directory + "/cpu.cfs_quota_us");  // -1 for none is no number here.
  const auto period = ReadControlNumber(directory + "/cpu.cfs_period_us");
  if (quota && period.value_or(0) > 0) usage.cpu_limit_milli = *quota * 1000 / *period;
  SetIf(ReadControlNumber(directory + "/cpuacct.usage"), usage.cpu_usec, 1000);
  SetIf(ReadControlField(directory + "/cpu.stat", "throttled_time"), usage.throttled_usec, 1000);
}

}  // namespace

// The control files of the two versions have different names, but for cpu.stat, whose fields differ.
CgroupUsage ReadUsage(const std::vector<std::string>& directories) {
  CgroupUsage usage;
  for (const std::string& directory : directories) {
    ReadVersion1(directory, usage);
    ReadVersion2(directory, usage);
  }
  return usage;
}

}  // namespace bucketvol
