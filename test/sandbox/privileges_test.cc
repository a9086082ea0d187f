#include "mounter/sandbox/privileges.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include "test/sandbox/shut_in.h"

namespace bucketvol {
namespace {

using testing::InProcess;

std::map<std::string, std::string> Status() {
  std::map<std::string, std::string> fields;
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name >> fields[name];
  }
  return fields;
}

TEST(PrivilegesTest, NoCapabilityIsLeftInAnySet) {
  EXPECT_EQ(InProcess([] {
              if (!DropPrivileges().ok()) return 1;
              auto fields = Status();
              for (const char* set : {"CapInh:", "CapPrm:", "CapEff:", "CapAmb:"}) {
                if (fields[set] != "0000000000000000") return 2;
              }
              if (geteuid() == 0 && testing::MayMount() && fields["CapBnd:"] != "0000000000000000") return 3;
              return fields["NoNewPrivs:"] == "1" ? 0 : 4;
            }).exit_code,
            0);
}

TEST(PrivilegesTest, TheyDoNotComeBackWithAProgramOfRoot) {
  EXPECT_EQ(InProcess([] {
              if (!DropPrivileges().ok()) return 1;
              execl("/bin/sh", "sh", "-c", "grep -q '^CapEff:\t0000000000000000$' /proc/self/status",
                    nullptr);
              return 2;
            }).exit_code,
            0);
}

}  // namespace
}  // namespace bucketvol
