#pragma once

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "mounter/guard/protocol.h"

namespace bucketvol {

/// Counts for people: "999", "4.2 M", "12.0 k".
std::string ShortCount(uint64_t count);

/// Bytes for people: "999 B", "1.4 GiB".
std::string ShortBytes(uint64_t bytes);

/// "listed 4.2 M keys, 310 k/s, 17 requests in flight, about 12 s left"; what is unknown is left out.
/// While another mount is waited for: "another mount builds this index: 4.2 M keys listed".
std::string ProgressText(const ProgressBody& progress);

/// What a command says on the standard error: one line each, and one line of progress that is written over
/// again and again, on a terminal only. Control bytes are escaped.
class Console {
 public:
  Console();
  /// Wipes the progress line.
  ~Console();

  void Progress(const ProgressBody& progress);
  void Warn(absl::string_view text);
  void Fail(absl::string_view text);
  /// Takes the progress line off the terminal.
  void Wipe();

 private:
  void Line(absl::string_view kind, absl::string_view text);

  const bool terminal_;
  bool progress_shown_ = false;
};

/// Writes text to the standard output.
void Print(absl::string_view text);

}  // namespace bucketvol
