#include "mounter/cli/index_command.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/errno_status.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/exit_code.h"
#include "mounter/cli/index_job.h"
#include "mounter/cli/interrupts.h"
#include "mounter/cli/store_stack.h"
#include "mounter/cli/volume_request.h"
#include "mounter/index/index_file.h"
#include "mounter/options/volume_spec.h"

namespace bucketvol {
namespace {

constexpr int kListingThreads = 2;
constexpr int kProgressMs = 200;

// Runs beside the job: shows its progress, and cancels it at the first signal.
class JobWatch {
 public:
  JobWatch(const IndexJob& job, const Clock& clock, const UniqueFd& interrupts, Cancellation& cancellation,
           Console& console, UniqueFd end)
      : thread_([&job, &clock, &interrupts, &cancellation, &console, finished = end.get()] {
          Watch(job, clock, interrupts, cancellation, console, finished);
        }),
        end_(std::move(end)) {}
  ~JobWatch() { thread_.join(); }

 private:
  static void Watch(const IndexJob& job, const Clock& clock, const UniqueFd& interrupts,
                    Cancellation& cancellation, Console& console, int finished) {
    const absl::Duration begin = clock.Elapsed();
    while (true) {
      pollfd ready[] = {{finished, POLLIN, 0}, {cancellation.cancelled() ? -1 : interrupts.get(), POLLIN, 0}};
      poll(ready, 2, kProgressMs);
      if (ready[0].revents != 0) return;
      if (ready[1].revents != 0) cancellation.Cancel();
      ProgressBody progress;
      progress.keys = job.progress().keys.load();
      progress.streams = job.progress().streams.load();
      progress.elapsed_ms = static_cast<uint64_t>(absl::ToInt64Milliseconds(clock.Elapsed() - begin));
      console.Progress(progress);
    }
  }

  std::thread thread_;
  UniqueFd end_;
};

absl::StatusOr<IndexManifest> RunWatched(IndexJob& job, const Clock& clock, const UniqueFd& interrupts,
                                         Console& console) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoToStatus(errno, "pipe");
  UniqueFd finish(ends[1]);
  auto cancellation = std::make_shared<Cancellation>();
  absl::StatusOr<IndexManifest> manifest;
  {
    const JobWatch watch(job, clock, interrupts, *cancellation, console, UniqueFd(ends[0]));
    manifest = job.Run(cancellation);
    finish.Reset();
  }
  if (!manifest.ok() && cancellation->cancelled()) return InterruptedError("interrupted");
  return manifest;
}

}  // namespace

absl::Status RunIndexBuild(const CommandContext& context, const Arguments& arguments, Console& console) {
  if (arguments.positional.size() != 1 || arguments.out.empty()) {
    return UsageError("usage: bucketvol index build SOURCE --out DIR [-o OPTIONS]");
  }
  ASSIGN_OR_RETURN(const VolumeRequest request,
                   ParseVolumeRequest(context, arguments.positional[0], arguments.option_lists));
  for (const std::string& warning : request.options.warnings) console.Warn(warning);
  ASSIGN_OR_RETURN(const VolumeSpec spec, ParseVolumeSpec(request.spec.Reveal()));
  RETURN_IF_ERROR(MakeDirectories(arguments.out, 0755));
  const Clock& clock = Clock::Real();
  // Before the store: its threads must not get the signals.
  ASSIGN_OR_RETURN(const UniqueFd interrupts, WatchForInterrupts());
  ASSIGN_OR_RETURN(const std::unique_ptr<StoreStack> stack, StoreStack::Make(spec, clock));
  ThreadPool parsers("list", kListingThreads);
  IndexJob job(stack->store(), clock, parsers, spec.options, arguments.out);
  ASSIGN_OR_RETURN(const IndexManifest manifest, RunWatched(job, clock, interrupts, console));
  console.Wipe();
  Print(IndexReportText(manifest));
  return absl::OkStatus();
}

absl::Status RunIndexShow(const Arguments& arguments) {
  if (arguments.positional.size() != 1) return UsageError("usage: bucketvol index show DIR|FILE [--json]");
  const std::string& path = arguments.positional[0];
  if (access(path.c_str(), F_OK) != 0) return ErrnoToStatus(errno, absl::StrCat("index ", path));
  ASSIGN_OR_RETURN(const IndexManifest manifest, ReadIndexManifest(path));
  Print(arguments.Has("--json") ? IndexManifestJson(manifest) + "\n" : IndexReportText(manifest));
  return absl::OkStatus();
}

}  // namespace bucketvol
