#pragma once

#include <memory>

#include "absl/types/span.h"
#include "test/bench/load/expectation.h"
#include "test/bench/load/load_job.h"
#include "test/bench/load/load_result.h"
#include "test/bench/load/open_files.h"
#include "test/bench/load/work.h"

namespace bucketvol::bench {

/// One reader of a job: does its share of the work and counts in the result. Runs on one thread.
class FileReader {
 public:
  /// `files` is this reader's own, or one that all share after OpenAll. All arguments must outlive it.
  FileReader(const LoadJob& job, OpenFiles& files, LoadResult& result, LoadResult::Reader& mine);

  /// Reads until there is no more work or the time is over.
  void Run(Work& work, int number);

 private:
  struct Free {
    void operator()(char* memory) const { free(memory); }
  };

  bool TimeIsOver() const;
  void ReadWhole(uint32_t file);
  bool Peek(uint32_t file);
  size_t SizeOfRead(uint64_t position) const;
  ssize_t ReadBlock(int fd, uint64_t offset, uint64_t wanted);
  bool ReadPart(const Access& access);
  void TouchPart(const Access& access);
  void Check(uint32_t file, uint64_t offset, absl::Span<const char> data);

  const LoadJob& job_;
  OpenFiles& files_;
  LoadResult& result_;
  LoadResult::Reader& mine_;
  Expectation expectation_;
  std::unique_ptr<char, Free> buffer_;
};

}  // namespace bucketvol::bench
