#pragma once

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "mounter/base/unique_fd.h"
#include "test/bench/load/load_job.h"

namespace bucketvol::bench {

/// A whole file mapped for reading; unmapped at its end. Empty when it could not be mapped, or has no bytes.
class Mapping {
 public:
  Mapping() = default;
  explicit Mapping(int file);
  ~Mapping();
  Mapping(Mapping&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  Mapping& operator=(Mapping&&) = delete;

  absl::Span<const char> bytes() const { return bytes_; }

 private:
  absl::Span<const char> bytes_;
};

/// Opens file number `file` of the job as its style demands; invalid, with errno set, when that fails.
UniqueFd OpenFile(const LoadJob& job, uint32_t file);

/// The files of a job, opened (and mapped) at their first use and kept, as long as there are not too many:
/// the limit of open files is for all readers together. Thread-compatible: after OpenAll any thread may use
/// it.
class OpenFiles {
 public:
  explicit OpenFiles(const LoadJob& job) : job_(job), files_(job.files.size()) {}

  void OpenAll();
  /// -1, with errno set, when it cannot be opened.
  int Descriptor(uint32_t file);
  /// Valid until the next call.
  absl::Span<const char> Mapped(uint32_t file);

 private:
  struct File {
    UniqueFd fd;
    std::vector<Mapping> mapping;  // One or none.
  };
  const LoadJob& job_;
  std::vector<File> files_;
  size_t most_ = 200;  // To be open at once.
  size_t opened_ = 0;
};

}  // namespace bucketvol::bench
