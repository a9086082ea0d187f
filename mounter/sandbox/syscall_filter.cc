#include "mounter/sandbox/syscall_filter.h"

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mounter/base/errno_status.h"
#include "mounter/sandbox/syscall_list.h"

namespace bucketvol {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "no list of system calls for this architecture"
#endif

// The second system call interface of x86-64 has these numbers (x32).
constexpr uint32_t kOtherInterface = 0x4000'0000;
// prctl: the name of a thread, and the names that allocators give to memory.
constexpr uint32_t kAllowedControls[] = {PR_SET_NAME, PR_GET_NAME, 0x53564d41 /* PR_SET_VMA */};
constexpr uint32_t kAllowedFamilies[] = {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK};

class Program {
 public:
  void Load(size_t offset) { Add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset))); }
  void Return(uint32_t action) { Add(BPF_STMT(BPF_RET | BPF_K, action)); }
  /// Returns `action` if what was loaded is `value`.
  void ReturnIfEqual(uint32_t value, uint32_t action) {
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    Return(action);
  }
  void ReturnUnlessEqual(uint32_t value, uint32_t action) {
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0));
    Return(action);
  }
  void ReturnIfAtLeast(uint32_t value, uint32_t action) {
    Add(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, 0, 1));
    Return(action);
  }
  /// Allows `number` if its first argument is one of `values`, refuses it with `otherwise` if not.
  void AllowWithArgument(uint32_t number, absl::Span<const uint32_t> values, uint32_t otherwise) {
    // load, two for each value, return, and the number again.
    const size_t length = 1 + 2 * values.size() + 1;
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, static_cast<uint8_t>(length)));
    Load(offsetof(seccomp_data, args[0]));
    for (const uint32_t value : values) ReturnIfEqual(value, SECCOMP_RET_ALLOW);
    Return(otherwise);
  }
  /// Allows clone for a thread of this process only.
  void AllowThreads(uint32_t otherwise) {
    Add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4));
    Load(offsetof(seccomp_data, args[0]));
    Add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
    Return(SECCOMP_RET_ALLOW);
    Return(otherwise);
  }
  std::vector<sock_filter> Take() { return std::move(code_); }

 private:
  void Add(sock_filter instruction) { code_.push_back(instruction); }
  std::vector<sock_filter> code_;
};

// The last words of a process that broke the rules. Only calls that are safe in a signal handler.
[[maybe_unused]] void OnForbiddenCall(int signal, siginfo_t* info, void*) {
  char line[] = "error: the worker made a system call that it may not: number ....\n";
  char* digit = line + sizeof line - 3;
  int number = info->si_syscall;
  for (int i = 0; i < 4; ++i, number /= 10)
    *digit-- = static_cast<char>(number > 0 || i == 0 ? '0' + number % 10 : ' ');
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, sizeof line - 1);
  struct sigaction fatal {};
  fatal.sa_handler = SIG_DFL;
  sigaction(signal, &fatal, nullptr);
  raise(signal);
}

}  // namespace

std::vector<sock_filter> SyscallProgram() {
  constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  Program program;
  program.Load(offsetof(seccomp_data, arch));
  program.ReturnUnlessEqual(kArchitecture, SECCOMP_RET_KILL_PROCESS);
  program.Load(offsetof(seccomp_data, nr));
  program.ReturnIfAtLeast(kOtherInterface, SECCOMP_RET_KILL_PROCESS);
  for (const uint32_t number : AllowedSyscalls()) program.ReturnIfEqual(number, SECCOMP_RET_ALLOW);
  for (const uint32_t number : MissingSyscalls()) program.ReturnIfEqual(number, SECCOMP_RET_ERRNO | ENOSYS);
  program.AllowWithArgument(SYS_prctl, kAllowedControls, kRefuse);
  program.AllowWithArgument(SYS_socket, kAllowedFamilies, SECCOMP_RET_ERRNO | EAFNOSUPPORT);
  program.AllowThreads(SECCOMP_RET_TRAP);
  program.Return(SECCOMP_RET_TRAP);
  return program.Take();
}

absl::Status FilterSyscalls() {
#ifdef BUCKETVOL_NO_SYSCALL_FILTER
  return absl::OkStatus();
#else
  struct sigaction trap {};
  trap.sa_sigaction = OnForbiddenCall;
  trap.sa_flags = SA_SIGINFO;
  if (sigaction(SIGSYS, &trap, nullptr) != 0) return ErrnoToStatus(errno, "watch for forbidden system calls");
  std::vector<sock_filter> code = SyscallProgram();
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0)
    return ErrnoToStatus(errno, "filter system calls");
  return absl::OkStatus();
#endif
}

}  // namespace bucketvol
