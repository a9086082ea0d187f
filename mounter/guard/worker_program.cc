#include "mounter/guard/worker_program.h"

#include <unistd.h>

#include <cerrno>

#include "mounter/base/directory_lock.h"

namespace bucketvol {
namespace {

// As in mounter/bundle/program_files.h, which the guard does not use.
constexpr char kLoader[] = "/bucketvol-ld.so";

std::string DirectoryOf(const std::string& program) { return program.substr(0, program.rfind('/')); }

void Become(const std::string& file, std::initializer_list<const char*> arguments) {
  const char* list[8] = {};
  size_t count = 0;
  for (const char* argument : arguments) list[count++] = argument;
  char* environment[] = {nullptr};
  execve(file.c_str(), const_cast<char**>(list), environment);
}

}  // namespace

Step HoldProgram(const std::string& program, UniqueFd& lock) {
  if (access(program.c_str(), X_OK) != 0) return SystemFailure(errno, "start the worker " + program);
  if (const int error = HoldDirectory(DirectoryOf(program), lock))
    return SystemFailure(error, "hold " + DirectoryOf(program));
  return Nothing{};
}

void BecomeProgram(const std::string& program) {
  const std::string directory = DirectoryOf(program);
  const std::string loader = directory + kLoader;
  if (access(loader.c_str(), X_OK) == 0) {
    Become(loader, {"bucketvol", "--library-path", directory.c_str(), "--argv0", "bucketvol", program.c_str(),
                    "worker"});
  }
  Become(program, {"bucketvol", "worker"});
}

}  // namespace bucketvol
