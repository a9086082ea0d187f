#include "test/bucketd/bucket.h"

namespace bucketvol::bucketd {

std::optional<std::string> PrefixEnd(absl::string_view prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.remove_suffix(1);
  if (prefix.empty()) return std::nullopt;
  std::string end(prefix);
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace bucketvol::bucketd
