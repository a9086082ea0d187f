#include "mounter/index/spill_stack.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/staged_file.h"

namespace bucketvol {
namespace {

constexpr size_t kReadBytes = 256 << 10;

}  // namespace

SpillStack::SpillStack(std::string directory, size_t memory_bytes)
    : directory_(std::move(directory)), capacity_(memory_bytes), memory_(new char[memory_bytes]) {}

absl::Status SpillStack::Push(absl::string_view a, absl::string_view b) {
  if (used_ + a.size() + b.size() > capacity_) RETURN_IF_ERROR(Spill());
  for (const absl::string_view part : {a, b}) {
    if (part.empty()) continue;
    std::memcpy(memory_.get() + used_, part.data(), part.size());
    used_ += part.size();
  }
  return absl::OkStatus();
}

absl::Status SpillStack::Spill() {
  if (!file_.valid()) {
    ASSIGN_OR_RETURN(file_, OpenUnnamedFile(directory_));
  }
  const absl::Status written = WriteAllAt(file_.get(), {memory_.get(), used_}, spilled_,
                                          absl::StrCat("temporary file in ", directory_));
  if (!written.ok())
    return Annotate(written, absl::StrCat("no room for the index, free some space in ", directory_));
  spilled_ += used_;
  used_ = 0;
  return absl::OkStatus();
}

void SpillStack::Truncate(uint64_t size) {
  used_ = size > spilled_ ? static_cast<size_t>(size - spilled_) : 0;
  spilled_ = std::min(spilled_, size);
}

absl::Status SpillStack::Read(uint64_t offset, absl::Span<char> out) const {
  if (offset < spilled_) {
    const auto part = static_cast<size_t>(std::min<uint64_t>(out.size(), spilled_ - offset));
    RETURN_IF_ERROR(ReadExactlyAt(file_.get(), out.subspan(0, part), offset, "temporary file"));
    out.remove_prefix(part);
    offset += part;
  }
  std::memcpy(out.data(), memory_.get() + (offset - spilled_), out.size());
  return absl::OkStatus();
}

absl::Status SpillStack::Reader::Peek(size_t bytes, absl::string_view& ahead) {
  if (window_.size() < bytes && next_ < end_) {
    const uint64_t from = next_ - window_.size();
    if (from >= stack_.spilled_) {
      window_ = {stack_.memory_.get() + (from - stack_.spilled_), static_cast<size_t>(end_ - from)};
      next_ = end_;
    } else {
      const auto size = static_cast<size_t>(std::min<uint64_t>(end_ - from, std::max(bytes, kReadBytes)));
      buffer_.resize(size);
      RETURN_IF_ERROR(stack_.Read(from, absl::MakeSpan(buffer_)));
      window_ = buffer_;
      next_ = from + size;
    }
  }
  ahead = window_;
  return absl::OkStatus();
}

}  // namespace bucketvol
