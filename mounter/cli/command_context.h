#pragma once

#include <map>
#include <string>

namespace bucketvol {

/// What a command takes from the process around it. Made by main, which alone reads the environment.
struct CommandContext {
  std::map<std::string, std::string> environment;
  std::string working_directory;
  std::string program_directory;  // Where this program lies, without symbolic links.
  bool mount_helper = false;      // Called by mount(8).
};

}  // namespace bucketvol
