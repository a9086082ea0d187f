#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace bucketvol {

/// What is told of a document while ReadXml passes over it. Names are without namespace prefix.
class XmlHandler {
 public:
  virtual ~XmlHandler() = default;
  /// `path` holds the names of all open elements, this one last.
  virtual void OnOpen(const std::vector<std::string>& path) = 0;
  virtual void OnText(absl::string_view text) = 0;
  /// `path` still holds the element that ends.
  virtual void OnClose(const std::vector<std::string>& path) = 0;
};

/// Reads a whole XML document with expat. DataLoss when it is not well-formed, cut off, or has a document
/// type (which could define entities).
absl::Status ReadXml(absl::string_view document, XmlHandler& handler);

}  // namespace bucketvol
