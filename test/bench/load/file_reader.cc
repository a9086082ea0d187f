#include "test/bench/load/file_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>

namespace bucketvol::bench {
namespace {

constexpr size_t kAlignment = 4096;  // What O_DIRECT asks for.
constexpr size_t kPageBytes = 4096;  // Touching more often than the page size does no harm.
// Pillow reads a head to find the format, then the rest of it, then its buffer's size at a time.
constexpr size_t kPilHead = 4096;
constexpr size_t kPilBuffer = 65'536;
constexpr size_t kCv2Buffer = 4096;

char* AllocateBlock(uint64_t block) {
  const size_t size = (std::max<uint64_t>(block, kPilBuffer) + kAlignment - 1) / kAlignment * kAlignment;
  return static_cast<char*>(aligned_alloc(kAlignment, size));
}

}  // namespace

FileReader::FileReader(const LoadJob& job, OpenFiles& files, LoadResult& result, LoadResult::Reader& mine)
    : job_(job),
      files_(files),
      result_(result),
      mine_(mine),
      expectation_(job.expected),
      buffer_(AllocateBlock(job.block)) {}

void FileReader::Run(Work& work, int number) {
  uint64_t nobody = 0;
  mine_.begin_ns = SteadyNs();
  result_.start_ns.compare_exchange_strong(nobody, mine_.begin_ns);
  while (!TimeIsOver()) {
    const std::optional<Access> access = work.Next(number);
    if (!access.has_value()) break;
    if (job_.order == Order::kFiles) {
      ReadWhole(access->file);
    } else if (job_.style == ReadStyle::kMmap) {
      TouchPart(*access);
    } else if (!ReadPart(*access)) {
      break;
    }
  }
  if (TimeIsOver()) result_.cut_short.fetch_add(1);
  mine_.end_ns = SteadyNs();
}

bool FileReader::TimeIsOver() const {
  return job_.seconds > 0 && SteadyNs() > result_.start_ns.load(std::memory_order_relaxed) +
                                              static_cast<uint64_t>(job_.seconds * 1e9);
}

void FileReader::Check(uint32_t file, uint64_t offset, absl::Span<const char> data) {
  if (!expectation_.Holds(job_.files[file], offset, data)) result_.mismatches.fetch_add(1);
}

size_t FileReader::SizeOfRead(uint64_t position) const {
  if (job_.style == ReadStyle::kCv2) return kCv2Buffer;
  if (job_.style != ReadStyle::kPil) return job_.block;
  if (position == 0) return kPilHead;
  return position < kPilBuffer ? kPilBuffer - position : kPilBuffer;
}

// cv2 looks at the head of a file in an opening of its own.
bool FileReader::Peek(uint32_t file) {
  const UniqueFd fd = OpenFile(job_, file);
  struct stat status;
  if (fstat(fd.get(), &status) == 0 && read(fd.get(), buffer_.get(), kCv2Buffer) >= 0) return true;
  result_.Fail(errno);
  return false;
}

void FileReader::ReadWhole(uint32_t file) {
  const uint64_t begin = SteadyNs();
  if (job_.style == ReadStyle::kCv2 && !Peek(file)) return;
  UniqueFd fd = OpenFile(job_, file);
  if (!fd.valid()) return result_.Fail(errno);
  if (job_.style == ReadStyle::kPil) {
    struct stat status;
    termios unused;
    fstat(fd.get(), &status);
    ioctl(fd.get(), TCGETS, &unused);
    lseek(fd.get(), 0, SEEK_CUR);
  }
  uint64_t position = 0;
  for (;;) {
    const ssize_t got = read(fd.get(), buffer_.get(), SizeOfRead(position));
    if (got < 0) return result_.Fail(errno);
    if (got == 0) break;
    Check(file, position, {buffer_.get(), static_cast<size_t>(got)});
    position += static_cast<uint64_t>(got);
  }
  if (position != expectation_.SizeOf(job_.files[file]).value_or(position)) result_.mismatches.fetch_add(1);
  fd.Reset();
  result_.files.fetch_add(1, std::memory_order_relaxed);
  result_.Deliver(mine_, position, begin);
  if (job_.pause_ms > 0) usleep(static_cast<useconds_t>(job_.pause_ms * 1000));
}

// Of a part that ends within a block, O_DIRECT must read on to the end of the block.
ssize_t FileReader::ReadBlock(int fd, uint64_t offset, uint64_t wanted) {
  const bool direct = job_.style == ReadStyle::kDirect;
  const uint64_t asked = direct ? (wanted + kAlignment - 1) / kAlignment * kAlignment : wanted;
  const ssize_t got = pread(fd, buffer_.get(), asked, static_cast<off_t>(offset));
  return std::min(got, static_cast<ssize_t>(wanted));
}

bool FileReader::ReadPart(const Access& access) {
  const int fd = files_.Descriptor(access.file);
  if (fd < 0) result_.Fail(errno);
  if (fd < 0) return job_.order == Order::kRandom;
  const uint64_t end = access.length == Access::kToEnd ? UINT64_MAX : access.offset + access.length;
  for (uint64_t offset = access.offset; offset < end && !TimeIsOver();) {
    const uint64_t begin = SteadyNs();
    const ssize_t got = ReadBlock(fd, offset, std::min(job_.block, end - offset));
    if (got < 0) result_.Fail(errno);
    if (got < 0) return job_.order == Order::kRandom;
    if (got == 0) break;
    result_.Deliver(mine_, static_cast<uint64_t>(got), begin);
    Check(access.file, offset, {buffer_.get(), static_cast<size_t>(got)});
    offset += static_cast<uint64_t>(got);
  }
  return true;
}

void FileReader::TouchPart(const Access& access) {
  const absl::Span<const char> mapped = files_.Mapped(access.file);
  if (access.offset >= mapped.size()) return result_.Fail(EINVAL);
  const uint64_t end = access.offset + std::min(access.length, mapped.size() - access.offset);
  for (uint64_t offset = access.offset; offset < end && !TimeIsOver();) {
    const uint64_t begin = SteadyNs();
    const absl::Span<const char> block = mapped.subspan(offset, std::min(job_.block, end - offset));
    for (size_t i = 0; i < block.size(); i += kPageBytes) {
      [[maybe_unused]] const char touched = *static_cast<const volatile char*>(&block[i]);
    }
    result_.Deliver(mine_, block.size(), begin);
    Check(access.file, offset, block);
    offset += block.size();
  }
}

}  // namespace bucketvol::bench
