#pragma once

#include <string>

namespace bucketvol {

/// Reads a file of /proc or /sys, at most `limit` bytes. Empty when it cannot be read.
std::string ReadSmallFile(const std::string& path, size_t limit = 64 * 1024);

/// Writes a file of /proc or /sys with one write(2).
bool WriteSmallFile(const std::string& path, const std::string& content);

}  // namespace bucketvol
