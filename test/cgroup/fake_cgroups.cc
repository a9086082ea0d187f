#include "test/cgroup/fake_cgroups.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace bucketvol::testing {

void FakeCgroups::AddVersion1(const std::string& controllers) {
  Make(controllers, {{"cgroup.procs", ""},
                     {"cpu.cfs_period_us", "100000"},
                     {"cpu.cfs_quota_us", "-1"},
                     {"cpu.shares", "1024"},
                     {"cpu.stat", "nr_periods 9\nnr_throttled 2\nthrottled_time 5000000\n"},
                     {"cpuacct.usage", "7000000"},
                     {"cpuset.cpus", ""},
                     {"cpuset.mems", ""},
                     {"memory.limit_in_bytes", "9223372036854771712"},
                     {"memory.usage_in_bytes", "11"},
                     {"memory.max_usage_in_bytes", "22"},
                     {"memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"}});
  mountinfo_ += "30 23 0:25 / " + (directory_ / controllers) + " rw,relatime shared:9 - cgroup cgroup rw," +
                controllers + "\n";
}

void FakeCgroups::AddVersion2(const std::string& controllers) {
  Make("unified", {{"cgroup.procs", ""},
                   {"cgroup.controllers", controllers + "\n"},
                   {"cgroup.subtree_control", ""},
                   {"cpu.max", "max 100000"},
                   {"cpu.weight", "100"},
                   {"cpu.stat", "usage_usec 8000\nuser_usec 1\nthrottled_usec 6000\n"},
                   {"memory.max", "max"},
                   {"memory.current", "33"},
                   {"memory.peak", "44"},
                   {"memory.events", "low 0\nhigh 0\nmax 5\noom 4\noom_kill 4\noom_group_kill 0\n"}});
  mountinfo_ += "31 23 0:26 / " + (directory_ / "unified") + " rw,relatime - cgroup2 cgroup2 rw\n";
}

std::string FakeCgroups::Read(const std::string& file) const {
  std::ifstream stream(directory_ / file);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void FakeCgroups::Write(const std::string& file, const std::string& text) const {
  std::ofstream(directory_ / file) << text;
}

void FakeCgroups::Make(const std::string& hierarchy, const std::map<std::string, std::string>& files) const {
  std::vector<std::string> cgroups = {"", "/bucketvol"};
  for (const std::string& name : names_) cgroups.push_back("/bucketvol/" + name);
  for (const std::string& cgroup : cgroups) {
    std::filesystem::create_directories(directory_ / (hierarchy + cgroup));
    for (const auto& [file, text] : files) Write(hierarchy + cgroup + "/" + file, text);
  }
}

}  // namespace bucketvol::testing
