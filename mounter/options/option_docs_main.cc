#include <cstdio>

#include "mounter/options/option_help.h"

// Writes docs/options.md to the standard output.
int main() {
  const std::string docs = bucketvol::OptionDocs();
  return std::fwrite(docs.data(), 1, docs.size(), stdout) == docs.size() ? 0 : 1;
}
