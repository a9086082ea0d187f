#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "mounter/base/byte_range.h"
#include "mounter/base/coding.h"

namespace bucketvol::testing {

/// The head of a safetensors file: 8 bytes of length, and `json`.
inline std::string SafetensorsHead(const std::string& json) {
  std::string head;
  AppendLittle<uint64_t>(head, json.size());
  return head + json;
}

/// The description of tensor `name` whose bytes are [begin, end) behind the header.
inline std::string SafetensorsEntry(const std::string& name, uint64_t begin, uint64_t end) {
  return absl::StrCat("\"", name, R"(":{"dtype":"F16","shape":[2,3],"data_offsets":[)", begin, ",", end,
                      "]}");
}

/// The directory of a ZIP archive that begins at `offset`, and what follows it to the end of the file.
/// Members begin at `members`. `wide`: with the records of 64-bit archives.
inline std::string ZipEnd(uint64_t offset, const std::vector<uint64_t>& members, bool wide = false) {
  std::string directory;
  for (const uint64_t member : members) {
    const bool far = member >= UINT32_MAX;
    const std::string name = absl::StrCat("archive/data/", member);
    directory += "PK\1\2";
    directory.append(16, '\0');
    AppendLittle<uint32_t>(directory, far ? UINT32_MAX : 1000);  // Sizes.
    AppendLittle<uint32_t>(directory, 1000);
    AppendLittle<uint16_t>(directory, static_cast<uint16_t>(name.size()));
    AppendLittle<uint16_t>(directory, far ? 4 + 16 : 0);
    directory.append(10, '\0');
    AppendLittle<uint32_t>(directory, far ? UINT32_MAX : static_cast<uint32_t>(member));
    directory += name;
    if (!far) continue;
    AppendLittle<uint16_t>(directory, 1);
    AppendLittle<uint16_t>(directory, 16);
    AppendLittle<uint64_t>(directory, 1000);
    AppendLittle<uint64_t>(directory, member);
  }
  const uint64_t size = directory.size();
  std::string end = std::move(directory);
  if (wide) {
    end += "PK\6\6";
    AppendLittle<uint64_t>(end, 44);
    end.append(28, '\0');
    AppendLittle<uint64_t>(end, size);
    AppendLittle<uint64_t>(end, offset);
    end += "PK\6\7";
    end.append(16, '\0');
  }
  end += "PK\5\6";
  end.append(8, '\0');
  AppendLittle<uint32_t>(end, wide ? UINT32_MAX : static_cast<uint32_t>(size));
  AppendLittle<uint32_t>(end, wide ? UINT32_MAX : static_cast<uint32_t>(offset));
  end.append(2, '\0');
  return end;
}

}  // namespace bucketvol::testing
