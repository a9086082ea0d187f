#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "test/bucketd/synthetic_spec.h"

namespace bucketvol::bench {

/// A part of a file that is to be read.
struct Access {
  static constexpr uint64_t kToEnd = UINT64_MAX;

  uint32_t file = 0;  // Index into LoadJob::files.
  uint64_t offset = 0;
  uint64_t length = kToEnd;
};

/// How an application reads.
enum class ReadStyle {
  kRead,    // pread in blocks, through the page cache.
  kDirect,  // pread in blocks with O_DIRECT.
  kMmap,    // One mapping per file; every page is touched.
  kPil,     // The system calls of Image.open(...).load(), whole files only.
  kCv2,     // Those of cv2.imread, whole files only.
};

/// Which parts each reader reads.
enum class Order {
  kFiles,     // The files of the list, whole: each reader takes the next one that nobody has.
  kAccesses,  // Each reader its own list.
  kRandom,    // One block anywhere in any file, again and again.
};

/// All that one run of the load generator does.
struct LoadJob {
  std::string directory;
  std::vector<std::string> files;  // Relative to `directory`, and so the keys of the objects.
  Order order = Order::kFiles;
  std::vector<std::vector<Access>> accesses;  // By reader (kAccesses).
  ReadStyle style = ReadStyle::kRead;
  int readers = 1;
  bool processes = false;     // Readers are processes; else threads.
  bool shared_files = false;  // All readers use one descriptor, or mapping, per file (threads only).
  uint64_t block = 128 * 1024;
  double pause_ms = 0;     // What a reader does with a whole file before it asks for the next one (kFiles).
  double seconds = 0;      // Stop after so long; 0: when all is read.
  uint64_t count = 0;      // Accesses per reader (kRandom); 0: until `seconds` are over.
  uint64_t alignment = 1;  // Of random offsets.
  uint64_t seed = 1;
  std::optional<bucketd::SyntheticSpec> expected;  // Compare every byte with this formula.
};

/// Reads the command line (without the program's name) and the files it names. Errors say what was wrong.
absl::StatusOr<LoadJob> ParseLoadJob(absl::Span<char* const> arguments);

/// Reads lines `READER FILE OFFSET LENGTH`; LENGTH `-` is up to the end of the file.
absl::StatusOr<std::vector<std::vector<Access>>> ParseAccesses(absl::string_view lines, int readers,
                                                               size_t files);

/// What `read_load --help` prints.
absl::string_view LoadHelp();

}  // namespace bucketvol::bench
