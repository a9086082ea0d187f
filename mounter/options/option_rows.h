#pragma once

#include <vector>

#include "mounter/options/option_table.h"

namespace bucketvol {

// The rows of the option table by concept. Used by option_table.cc only.

void AppendSourceRows(std::vector<OptionRow>& table);
void AppendCredentialRows(std::vector<OptionRow>& table);
void AppendContentRows(std::vector<OptionRow>& table);
void AppendLimitRows(std::vector<OptionRow>& table);
void AppendMountRows(std::vector<OptionRow>& table);

}  // namespace bucketvol
