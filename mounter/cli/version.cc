#include "mounter/cli/version.h"

#include "absl/strings/str_cat.h"
#include "mounter/index/index_file.h"

namespace bucketvol {

std::string VersionText() {
  return absl::StrCat("bucketvol ", BUCKETVOL_VERSION, " (index format ", kIndexVersion, ")\n");
}

std::string VersionJson() {
  return absl::StrCat("{\"version\":\"", BUCKETVOL_VERSION, "\",\"index_version\":", kIndexVersion, "}\n");
}

}  // namespace bucketvol
