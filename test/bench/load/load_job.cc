#include "test/bench/load/load_job.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "mounter/base/status_macros.h"
#include "test/bucketd/units.h"

namespace bucketvol::bench {
namespace {

constexpr absl::string_view kHelp = R"(read_load: reads files as applications do, and tells how long it took
  read_load --directory DIR --files LIST [flags]        LIST holds one path per line, relative to DIR

What is read (default: the files of the list, whole; each reader takes the next that nobody has)
  --accesses FILE         lines `READER FILE OFFSET LENGTH`: reader and file are numbers from 0, LENGTH `-` is to the end
  --random                blocks anywhere in any of the files; with --count N per reader, --alignment BYTES, --seed N
How
  --style read|direct|mmap|pil|cv2   pread, O_DIRECT, a mapping, or the system calls of an image library (default read)
  --block SIZE            bytes of one read (default 128KiB)
  --readers N             at once (default 1), threads; --processes makes them processes
  --shared-files          the readers share one descriptor (or mapping) of each file
  --pause-ms MS           what a reader does with a whole file before it opens the next one
  --seconds S             stop after that time
  --expected SPEC         compare every byte with this synthetic bucket of bucketd, whose keys are the paths
One line of JSON tells the result. Exit code 1: an error, or bytes that differ.
)";

absl::StatusOr<std::string> ReadFile(absl::string_view path) {
  std::ifstream file{std::string(path)};
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read: ", path));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::Status ParseStyle(absl::string_view value, ReadStyle& style) {
  constexpr std::pair<const char*, ReadStyle> kStyles[] = {{"read", ReadStyle::kRead},
                                                           {"direct", ReadStyle::kDirect},
                                                           {"mmap", ReadStyle::kMmap},
                                                           {"pil", ReadStyle::kPil},
                                                           {"cv2", ReadStyle::kCv2}};
  for (const auto& [name, known] : kStyles) {
    if (value != name) continue;
    style = known;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("--style: not read, direct, mmap, pil or cv2: ", value));
}

bool ApplySwitch(absl::string_view flag, LoadJob& job) {
  if (flag == "processes") {
    job.processes = true;
  } else if (flag == "shared-files") {
    job.shared_files = true;
  } else if (flag == "random") {
    job.order = Order::kRandom;
  } else {
    return false;
  }
  return true;
}

absl::Status ApplyNumber(absl::string_view flag, absl::string_view value, LoadJob& job) {
  uint64_t readers = 0;
  const std::pair<absl::string_view, uint64_t*> numbers[] = {{"block", &job.block},
                                                             {"count", &job.count},
                                                             {"alignment", &job.alignment},
                                                             {"seed", &job.seed},
                                                             {"readers", &readers}};
  for (const auto& [name, number] : numbers) {
    if (flag != name) continue;
    ASSIGN_OR_RETURN(*number, bucketd::ParseSize(value));
    if (readers > 0) job.readers = static_cast<int>(readers);
    return absl::OkStatus();
  }
  if (flag == "seconds" && absl::SimpleAtod(value, &job.seconds)) return absl::OkStatus();
  if (flag == "pause-ms" && absl::SimpleAtod(value, &job.pause_ms)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("unknown flag or value: --", flag, " ", value));
}

absl::Status ApplyFlag(absl::string_view flag, absl::string_view value, LoadJob& job,
                       std::string& accesses_file) {
  if (flag == "style") return ParseStyle(value, job.style);
  if (flag == "directory") {
    job.directory = std::string(value);
  } else if (flag == "files") {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(value));
    job.files = absl::StrSplit(text, '\n', absl::SkipEmpty());
  } else if (flag == "accesses") {
    accesses_file = std::string(value);
    job.order = Order::kAccesses;
  } else if (flag == "expected") {
    ASSIGN_OR_RETURN(job.expected, bucketd::ParseSyntheticSpec(value));
  } else {
    return ApplyNumber(flag, value, job);
  }
  return absl::OkStatus();
}

absl::Status CheckTogether(const LoadJob& job) {
  if (job.files.empty()) return absl::InvalidArgumentError("--files: no file is named");
  if (job.block == 0 || job.alignment == 0) {
    return absl::InvalidArgumentError("--block and --alignment must be at least 1");
  }
  if (job.shared_files && job.processes) {
    return absl::InvalidArgumentError("--shared-files is for threads only");
  }
  const bool image = job.style == ReadStyle::kPil || job.style == ReadStyle::kCv2;
  if (image && job.order != Order::kFiles) {
    return absl::InvalidArgumentError("--style pil and cv2 read whole files only");
  }
  if (job.order == Order::kRandom && job.count == 0 && job.seconds == 0) {
    return absl::InvalidArgumentError("--random needs --count or --seconds");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::vector<Access>>> ParseAccesses(absl::string_view lines, int readers,
                                                               size_t files) {
  std::vector<std::vector<Access>> accesses(static_cast<size_t>(readers));
  for (const absl::string_view line : absl::StrSplit(lines, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    size_t reader = 0;
    Access access;
    const bool understood = words.size() == 4 && absl::SimpleAtoi(words[0], &reader) &&
                            absl::SimpleAtoi(words[1], &access.file) &&
                            absl::SimpleAtoi(words[2], &access.offset) &&
                            (words[3] == "-" || absl::SimpleAtoi(words[3], &access.length));
    if (!understood || reader >= accesses.size() || access.file >= files) {
      return absl::InvalidArgumentError(absl::StrCat("not READER FILE OFFSET LENGTH of this job: ", line));
    }
    accesses[reader].push_back(access);
  }
  return accesses;
}

absl::StatusOr<LoadJob> ParseLoadJob(absl::Span<char* const> arguments) {
  LoadJob job;
  std::string accesses_file;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view flag = arguments[i];
    if (!absl::ConsumePrefix(&flag, "--")) {
      return absl::InvalidArgumentError(absl::StrCat("not a flag: ", arguments[i]));
    }
    if (ApplySwitch(flag, job)) continue;
    if (i + 1 == arguments.size()) return absl::InvalidArgumentError(absl::StrCat("no value: --", flag));
    RETURN_IF_ERROR(ApplyFlag(flag, arguments[++i], job, accesses_file));
  }
  RETURN_IF_ERROR(CheckTogether(job));
  if (!accesses_file.empty()) {
    ASSIGN_OR_RETURN(const std::string lines, ReadFile(accesses_file));
    ASSIGN_OR_RETURN(job.accesses, ParseAccesses(lines, job.readers, job.files.size()));
  }
  return job;
}

absl::string_view LoadHelp() { return kHelp; }

}  // namespace bucketvol::bench
