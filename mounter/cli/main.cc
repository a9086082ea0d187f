// bucketvol: the command line. Also the worker (`bucketvol worker`, started by the guard) and the helper of
// mount(8) (called as mount.bucketvol).

#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "mounter/base/clock.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/arguments.h"
#include "mounter/cli/command_context.h"
#include "mounter/cli/console.h"
#include "mounter/cli/credentials_command.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/help.h"
#include "mounter/cli/index_command.h"
#include "mounter/cli/mount_command.h"
#include "mounter/cli/status_command.h"
#include "mounter/cli/umount_command.h"
#include "mounter/cli/upgrade_command.h"
#include "mounter/cli/version.h"
#include "mounter/cli/worker.h"
#include "mounter/options/option_help.h"

extern char** environ;

namespace bucketvol {
namespace {

constexpr int kWorkerSocket = 3;

std::map<std::string, std::string> ReadEnvironment() {
  std::map<std::string, std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const absl::string_view text = *variable;
    const size_t equals = text.find('=');
    if (equals == absl::string_view::npos) continue;
    variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::string ReadLink(const char* path) {
  char target[PATH_MAX];
  const ssize_t size = readlink(path, target, sizeof target);
  return size < 0 ? "" : std::string(target, static_cast<size_t>(size));
}

CommandContext MakeContext() {
  CommandContext context;
  context.environment = ReadEnvironment();
  char current[PATH_MAX];
  if (getcwd(current, sizeof current) != nullptr) context.working_directory = current;
  const std::string program = ReadLink("/proc/self/exe");
  context.program_directory = program.substr(0, program.rfind('/'));
  return context;
}

// nullopt: help was asked for, and given.
absl::StatusOr<std::optional<Arguments>> Parse(absl::Span<const std::string> words,
                                               absl::Span<const absl::string_view> flags) {
  ASSIGN_OR_RETURN(Arguments arguments, ParseArguments(words, flags));
  if (!arguments.Has("--help")) return std::make_optional(std::move(arguments));
  Print(HelpText());
  return std::nullopt;
}

absl::Status RunIndex(absl::Span<const std::string> words, Console& console) {
  const absl::string_view what = words.empty() ? absl::string_view() : words[0];
  if (what != "build" && what != "show") {
    return UsageError(
        "usage: bucketvol index build SOURCE --out DIR [-o OPTIONS], or: bucketvol index show DIR [--json]");
  }
  const std::vector<absl::string_view> flags = {"--json"};
  ASSIGN_OR_RETURN(const auto arguments, Parse(words.subspan(1), flags));
  if (!arguments) return absl::OkStatus();
  return what == "build" ? RunIndexBuild(MakeContext(), *arguments, console) : RunIndexShow(*arguments);
}

absl::Status RunHelp(absl::Span<const std::string> words) {
  if (!words.empty() && words[0] == "options")
    Print(OptionHelp());
  else
    Print(HelpText());
  return absl::OkStatus();
}

absl::Status RunCommand(absl::Span<const std::string> words, Console& console) {
  if (words.empty()) return UsageError("which command? bucketvol help lists them");
  const absl::string_view command = words[0];
  const absl::Span<const std::string> rest = words.subspan(1);
  if (command == "index") return RunIndex(rest, console);
  if (command == "help" || command == "--help" || command == "-h") return RunHelp(rest);
  std::vector<absl::string_view> flags;
  if (command == "credentials")
    flags = {};
  else if (command == "mount")
    flags = {"--foreground"};
  else if (command == "umount")
    flags = {"--lazy", "--force"};
  else if (command == "upgrade")
    flags = {"--all"};
  else if (command == "status" || command == "version" || command == "--version")
    flags = {"--json"};
  else
    return UsageError(absl::StrCat("unknown command ", command, "; bucketvol help lists them"));
  ASSIGN_OR_RETURN(const auto arguments, Parse(rest, flags));
  if (!arguments) return absl::OkStatus();
  if (command == "mount") return RunMount(MakeContext(), *arguments, console);
  if (command == "credentials") return RunCredentials(MakeContext(), *arguments);
  if (command == "umount") return RunUmount(*arguments, console);
  if (command == "status") return RunStatus(*arguments, console);
  if (command == "upgrade") return RunUpgrade(MakeContext(), *arguments, console);
  Print(arguments->Has("--json") ? VersionJson() : VersionText());
  return absl::OkStatus();
}

absl::Status RunMountHelper(absl::Span<const std::string> words, Console& console) {
  ASSIGN_OR_RETURN(const MountHelperArguments parsed, ParseMountHelperArguments(words));
  if (parsed.fake) return absl::OkStatus();
  CommandContext context = MakeContext();
  context.mount_helper = true;
  return RunMount(context, parsed.arguments, console);
}

int Main(const std::string& program, const std::vector<std::string>& words) {
  signal(SIGPIPE, SIG_IGN);
  // Distributions ship an abseil that notes the order of locks at every one. Ours are leaves, and tests have
  // that on.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  if (words.size() == 1 && words[0] == "worker") {
    // The loader of a bundle has given its own.
    prctl(PR_SET_NAME, "bucketvol");
    return Worker(Channel(UniqueFd(kWorkerSocket)), Clock::Real()).Run();
  }
  // A command says what it has to say itself, in one line.
  SetLogging({.level = LogLevel::kError});
  const bool helper = absl::EndsWith(program, "mount.bucketvol");
  Console console;
  const absl::Status status = helper ? RunMountHelper(words, console) : RunCommand(words, console);
  if (status.ok()) return kExitDone;
  console.Fail(status.message());
  return helper ? kExitMountFailed : ExitCodeOf(status);
}

}  // namespace
}  // namespace bucketvol

int main(int argc, char** argv) {
  // libcurl takes and frees a buffer for each request: as long as the allocator gives such memory back to the
  // kernel at once, every one of them costs its page faults anew.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
  // Debian's library is built to look for lock cycles at every acquisition; the sanitizer builds do that for
  // us.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return bucketvol::Main(argc > 0 ? argv[0] : "",
                         std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}
