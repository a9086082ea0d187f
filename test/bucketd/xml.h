#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bucketvol::bucketd {

/// An element of a small XML document.
struct XmlNode {
  std::string name;  // Without a namespace prefix.
  std::string text;  // All character data directly inside.
  std::vector<XmlNode> children;

  /// The first child of that name, or nullptr.
  const XmlNode* Child(absl::string_view child_name) const;
  /// The text of that child; empty when there is none.
  std::string ChildText(absl::string_view child_name) const;
};

/// Parses a document of at most 64 levels; nullopt if it is not well-formed.
std::optional<XmlNode> ParseXml(absl::string_view document);

}  // namespace bucketvol::bucketd
