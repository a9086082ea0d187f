// read_load: reads files as applications do, and tells how long it took. See LoadHelp.
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "test/bench/load/file_reader.h"
#include "test/bench/load/load_job.h"
#include "test/bench/load/load_result.h"
#include "test/bench/load/work.h"

namespace bucketvol::bench {
namespace {

/// Holds all readers, threads or processes, until the last one is there.
class StartLine {
 public:
  explicit StartLine(int readers)
      : barrier_(static_cast<pthread_barrier_t*>(mmap(
            nullptr, sizeof(pthread_barrier_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    pthread_barrierattr_t attributes;
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(barrier_, &attributes, static_cast<unsigned>(readers));
    pthread_barrierattr_destroy(&attributes);
  }
  ~StartLine() { munmap(barrier_, sizeof(pthread_barrier_t)); }
  void Wait() { pthread_barrier_wait(barrier_); }

 private:
  pthread_barrier_t* const barrier_;
};

void RunReader(const LoadJob& job, OpenFiles* shared, SharedResult& result, Work& work, StartLine& start,
               int number) {
  OpenFiles own(job);
  FileReader reader(job, shared != nullptr ? *shared : own, result.result(),
                    result.readers()[static_cast<size_t>(number)]);
  start.Wait();
  reader.Run(work, number);
}

void RunThreads(const LoadJob& job, SharedResult& result, Work& work) {
  OpenFiles shared(job);
  if (job.shared_files) shared.OpenAll();
  StartLine start(job.readers);
  std::vector<std::thread> threads;
  for (int number = 0; number < job.readers; ++number) {
    threads.emplace_back(
        [&, number] { RunReader(job, job.shared_files ? &shared : nullptr, result, work, start, number); });
  }
  for (std::thread& thread : threads) thread.join();
}

void RunProcesses(const LoadJob& job, SharedResult& result, Work& work) {
  StartLine start(job.readers);
  std::vector<pid_t> children;
  for (int number = 0; number < job.readers; ++number) {
    const pid_t child = fork();
    if (child == 0) {
      RunReader(job, nullptr, result, work, start, number);
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) result.result().Fail(EIO);  // A signal: a page of a mapping could not be read.
  }
}

int Main(absl::Span<char* const> arguments) {
  if (arguments.size() == 1 && absl::string_view(arguments[0]) == "--help") {
    fwrite(LoadHelp().data(), 1, LoadHelp().size(), stdout);
    return 0;
  }
  const absl::StatusOr<LoadJob> job = ParseLoadJob(arguments);
  if (!job.ok()) {
    fprintf(stderr, "read_load: %s\n", std::string(job.status().message()).c_str());
    return 2;
  }
  SharedResult result(job->readers);
  const absl::StatusOr<std::unique_ptr<Work>> work = MakeWork(*job, result.result());
  if (!work.ok()) {
    fprintf(stderr, "read_load: %s\n", std::string(work.status().message()).c_str());
    return 2;
  }
  if (job->processes) {
    RunProcesses(*job, result, **work);
  } else {
    RunThreads(*job, result, **work);
  }
  printf("%s\n", result.ToJson().c_str());
  return result.clean() ? 0 : 1;
}

}  // namespace
}  // namespace bucketvol::bench

int main(int argc, char** argv) {
  return bucketvol::bench::Main(absl::MakeConstSpan(argv + 1, static_cast<size_t>(argc) - 1));
}
