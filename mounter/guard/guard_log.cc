#include "mounter/guard/guard_log.h"

#include <time.h>
#include <unistd.h>

namespace bucketvol {

void GuardLog(const std::string& text) {
  char stamp[32];
  const time_t now = time(nullptr);
  tm parts;
  gmtime_r(&now, &parts);
  strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &parts);
  const std::string line = std::string(stamp) + " guard: " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace bucketvol
