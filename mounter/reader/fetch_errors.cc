#include "mounter/reader/fetch_errors.h"

#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"

namespace bucketvol {

void FetchErrors::Note(const absl::Status& error) {
  std::string line;
  {
    absl::MutexLock lock(&mu_);
    last_ = std::string(error.message());
    const absl::Duration now = clock_.Elapsed();
    if (now < next_line_) {
      ++unlogged_;
      return;
    }
    line = last_;
    if (unlogged_ > 0) absl::StrAppend(&line, " (errors not shown since the last line: ", unlogged_, ")");
    unlogged_ = 0;
    next_line_ = now + absl::Seconds(1);
  }
  LogWarning(line);
}

void FetchErrors::Keep(const absl::Status& error) {
  absl::MutexLock lock(&mu_);
  last_ = std::string(error.message());
}

std::string FetchErrors::last() const {
  absl::MutexLock lock(&mu_);
  return last_;
}

}  // namespace bucketvol
