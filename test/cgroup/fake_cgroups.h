#pragma once

#include <map>
#include <string>
#include <vector>

#include "test/support/temp_dir.h"

namespace bucketvol::testing {

/// Directories with the control files of cgroup hierarchies, for what this machine's kernel does not offer.
/// Control files are plain files: what is written can be read, nothing is enforced. The kernel makes control
/// files together with a cgroup; here they are there beforehand, in every cgroup of `names`.
class FakeCgroups {
 public:
  explicit FakeCgroups(std::vector<std::string> names) : names_(std::move(names)) {}

  void AddVersion1(const std::string& controllers);
  void AddVersion2(const std::string& controllers);

  /// In the form of /proc/self/mountinfo.
  std::string mountinfo() const { return mountinfo_; }
  std::string Read(const std::string& file) const;
  void Write(const std::string& file, const std::string& text) const;
  std::string operator/(const std::string& file) const { return directory_ / file; }

 private:
  void Make(const std::string& hierarchy, const std::map<std::string, std::string>& files) const;

  const std::vector<std::string> names_;
  TempDir directory_;
  std::string mountinfo_;
};

}  // namespace bucketvol::testing
