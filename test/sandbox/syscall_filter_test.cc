#include "mounter/sandbox/syscall_filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "mounter/sandbox/privileges.h"
#include "mounter/sandbox/syscall_list.h"
#include "test/sandbox/shut_in.h"

namespace bucketvol {
namespace {

using testing::Ending;
using ::testing::HasSubstr;
using testing::InProcess;

class SyscallFilterTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef BUCKETVOL_NO_SYSCALL_FILTER
    GTEST_SKIP() << "sanitizers make system calls of their own";
#endif
  }
  static Ending Filtered(const std::function<int()>& work) {
    return InProcess([&] {
      if (!DropPrivileges().ok() || !FilterSyscalls().ok()) return 100;
      return work();
    });
  }
  static void ExpectForbidden(long number, const std::function<int()>& work) {
    const Ending ending = Filtered(work);
    EXPECT_EQ(ending.signal, SIGSYS) << number << " exit code " << ending.exit_code;
    EXPECT_THAT(ending.errors, HasSubstr("may not"));
    const std::string shown = ending.errors.substr(ending.errors.rfind("number") + 6);
    EXPECT_EQ(std::stol(shown), number) << ending.errors;
  }
};

TEST_F(SyscallFilterTest, AForbiddenCallEndsTheProcessAndIsNamed) {
  ExpectForbidden(SYS_ptrace, [] { return static_cast<int>(syscall(SYS_ptrace, 0, 0, 0, 0)); });
  ExpectForbidden(SYS_mount, [] { return mount("a", "/", "tmpfs", 0, nullptr); });
  ExpectForbidden(SYS_unshare, [] { return unshare(CLONE_NEWUSER); });
  ExpectForbidden(SYS_bpf, [] { return static_cast<int>(syscall(SYS_bpf, 0, nullptr, 0)); });
  ExpectForbidden(SYS_execve, [] {
    execl("/bin/true", "true", nullptr);
    return 1;
  });
}

TEST_F(SyscallFilterTest, ThreadsAreMadeButNoProcesses) {
  EXPECT_EQ(Filtered([] {
              int value = 1;
              std::thread([&] { value = 0; }).join();
              return value;
            }).exit_code,
            0);
  ExpectForbidden(SYS_clone, [] { return fork() == 0 ? 0 : 1; });
}

TEST_F(SyscallFilterTest, ThreadsAreBoundToo) {
  EXPECT_EQ(Filtered([] {
              std::thread([] { syscall(SYS_ptrace, 0, 0, 0, 0); }).join();
              return 0;
            }).signal,
            SIGSYS);
}

TEST_F(SyscallFilterTest, SocketsAreOfKnownFamilies) {
  EXPECT_EQ(Filtered([] {
              for (const int family : {AF_INET, AF_INET6, AF_UNIX}) {
                if (socket(family, SOCK_STREAM, 0) < 0 && errno == EAFNOSUPPORT) return 1;
              }
              if (socket(AF_NETLINK, SOCK_RAW, 0) < 0) return 2;
              return socket(AF_PACKET, SOCK_RAW, 0) < 0 && errno == EAFNOSUPPORT ? 0 : 3;
            }).exit_code,
            0);
}

TEST_F(SyscallFilterTest, WhatLibrariesTryIsMissingNotForbidden) {
  EXPECT_EQ(Filtered([] {
              for (const uint32_t number : MissingSyscalls()) {
                if (syscall(number, 0, 0, 0, 0) != -1 || errno != ENOSYS) return 1;
              }
              return prctl(PR_SET_DUMPABLE, 1) == -1 && errno == EPERM ? 0 : 2;
            }).exit_code,
            0);
}

TEST_F(SyscallFilterTest, TheProgramFitsIntoTheKernel) {
  EXPECT_LE(SyscallProgram().size(), size_t{BPF_MAXINSNS});
}

}  // namespace
}  // namespace bucketvol
