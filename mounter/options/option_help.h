#pragma once

#include <string>

namespace bucketvol {

/// The options as `bucketvol help options` prints them: by section, 100 columns.
std::string OptionHelp();

/// docs/options.md, whole: the option table in Markdown. The checked-in file must equal it.
std::string OptionDocs();

}  // namespace bucketvol
