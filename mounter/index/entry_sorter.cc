#include "mounter/index/entry_sorter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/directory_entry.h"
#include "mounter/index/erofs_format.h"
#include "mounter/index/staged_file.h"

namespace bucketvol {
namespace {

constexpr size_t kLargestEntry = kEntryHeader + erofs::kMaxName;
constexpr size_t kSmallestBuffer = 4096;

absl::string_view NameAt(const char* packed) { return UnpackEntry(packed).name; }

}  // namespace

/// Reads one sorted run back.
class EntrySorter::Run {
 public:
  Run(int fd, uint64_t begin, uint64_t end, size_t buffer)
      : fd_(fd), next_(begin), end_(end), capacity_(buffer) {}

  /// The entry at hand; nullptr after the last one.
  const char* head() const { return head_; }

  absl::Status Advance() {
    if (head_ != nullptr) position_ += EntryBytes(head_);
    if (buffer_.size() - position_ < kLargestEntry && next_ < end_) RETURN_IF_ERROR(Refill());
    head_ = position_ < buffer_.size() ? buffer_.data() + position_ : nullptr;
    return absl::OkStatus();
  }

 private:
  absl::Status Refill() {
    buffer_.erase(0, position_);
    position_ = 0;
    const size_t kept = buffer_.size();
    const auto more = static_cast<size_t>(std::min<uint64_t>(end_ - next_, capacity_));
    buffer_.resize(kept + more);
    RETURN_IF_ERROR(ReadExactlyAt(fd_, absl::MakeSpan(buffer_).subspan(kept), next_, "temporary file"));
    next_ += more;
    return absl::OkStatus();
  }

  const int fd_;
  uint64_t next_;
  const uint64_t end_;
  const size_t capacity_;
  std::string buffer_;
  size_t position_ = 0;
  const char* head_ = nullptr;
};

bool EntrySorter::Later::operator()(const Run* a, const Run* b) const {
  return NameAt(a->head()) > NameAt(b->head());
}

EntrySorter::EntrySorter(std::string directory, size_t memory_bytes)
    : directory_(std::move(directory)), capacity_(memory_bytes) {}
EntrySorter::~EntrySorter() = default;

void EntrySorter::Start() {
  memory_.clear();
  offsets_.clear();
  next_ = 0;
  run_ends_.clear();
  runs_.clear();
  heap_.clear();
  given_ = nullptr;
}

absl::Status EntrySorter::Add(absl::string_view packed) {
  if (memory_.size() + packed.size() > capacity_) RETURN_IF_ERROR(SpillRun());
  offsets_.push_back(static_cast<uint32_t>(memory_.size()));
  memory_.append(packed.data(), packed.size());
  return absl::OkStatus();
}

// Sub-directories come in the order of their names followed by "/", which is nearly always the order of the
// names.
void EntrySorter::SortMemory() {
  const auto less = [this](uint32_t a, uint32_t b) {
    return NameAt(memory_.data() + a) < NameAt(memory_.data() + b);
  };
  if (!std::is_sorted(offsets_.begin(), offsets_.end(), less))
    std::sort(offsets_.begin(), offsets_.end(), less);
}

absl::Status EntrySorter::SpillRun() {
  if (!file_.valid()) {
    ASSIGN_OR_RETURN(file_, OpenUnnamedFile(directory_));
  }
  SortMemory();
  std::string sorted;
  sorted.reserve(memory_.size());
  for (const uint32_t at : offsets_) sorted.append(memory_, at, EntryBytes(memory_.data() + at));
  const uint64_t begin = run_ends_.empty() ? 0 : run_ends_.back();
  const absl::Status written =
      WriteAllAt(file_.get(), sorted, begin, absl::StrCat("temporary file in ", directory_));
  if (!written.ok())
    return Annotate(written, absl::StrCat("no room for the index, free some space in ", directory_));
  run_ends_.push_back(begin + sorted.size());
  memory_.clear();
  offsets_.clear();
  return absl::OkStatus();
}

absl::Status EntrySorter::Sort() {
  if (!run_ends_.empty()) {
    RETURN_IF_ERROR(SpillRun());
    return OpenRuns();
  }
  SortMemory();
  return absl::OkStatus();
}

absl::Status EntrySorter::OpenRuns() {
  const size_t buffer = std::max(capacity_ / run_ends_.size(), kSmallestBuffer);
  uint64_t begin = 0;
  for (const uint64_t end : run_ends_) {
    runs_.push_back(std::make_unique<Run>(file_.get(), begin, end, buffer));
    begin = end;
    RETURN_IF_ERROR(runs_.back()->Advance());
    if (runs_.back()->head() != nullptr) heap_.push_back(runs_.back().get());
  }
  std::make_heap(heap_.begin(), heap_.end(), Later());
  return absl::OkStatus();
}

absl::Status EntrySorter::Next(const char*& packed) {
  if (!runs_.empty()) return NextOfRuns(packed);
  packed = next_ < offsets_.size() ? memory_.data() + offsets_[next_++] : nullptr;
  return absl::OkStatus();
}

absl::Status EntrySorter::NextOfRuns(const char*& packed) {
  if (given_ != nullptr) {
    RETURN_IF_ERROR(given_->Advance());
    if (given_->head() != nullptr) {
      heap_.push_back(given_);
      std::push_heap(heap_.begin(), heap_.end(), Later());
    }
    given_ = nullptr;
  }
  packed = nullptr;
  if (heap_.empty()) return absl::OkStatus();
  std::pop_heap(heap_.begin(), heap_.end(), Later());
  given_ = heap_.back();
  heap_.pop_back();
  packed = given_->head();
  return absl::OkStatus();
}

}  // namespace bucketvol
