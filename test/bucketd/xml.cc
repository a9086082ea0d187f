#include "test/bucketd/xml.h"

#include <expat.h>

#include <memory>

namespace bucketvol::bucketd {
namespace {

constexpr size_t kMaxDepth = 64;

struct Builder {
  XML_Parser parser;
  std::vector<XmlNode> open;  // From the root down; a node moves into its parent when it ends.
  std::optional<XmlNode> root;
};

void XMLCALL OnStart(void* user, const char* name, const char**) {
  auto* builder = static_cast<Builder*>(user);
  if (builder->open.size() >= kMaxDepth) {
    XML_StopParser(builder->parser, XML_FALSE);
    return;
  }
  const absl::string_view full = name;
  const size_t colon = full.rfind(':');
  builder->open.push_back(
      {std::string(colon == absl::string_view::npos ? full : full.substr(colon + 1)), "", {}});
}

void XMLCALL OnEnd(void* user, const char*) {
  auto* builder = static_cast<Builder*>(user);
  XmlNode node = std::move(builder->open.back());
  builder->open.pop_back();
  if (builder->open.empty()) {
    builder->root = std::move(node);
  } else {
    builder->open.back().children.push_back(std::move(node));
  }
}

void XMLCALL OnText(void* user, const char* text, int size) {
  static_cast<Builder*>(user)->open.back().text.append(text, static_cast<size_t>(size));
}

}  // namespace

const XmlNode* XmlNode::Child(absl::string_view child_name) const {
  for (const XmlNode& child : children) {
    if (child.name == child_name) return &child;
  }
  return nullptr;
}

std::string XmlNode::ChildText(absl::string_view child_name) const {
  const XmlNode* child = Child(child_name);
  return child == nullptr ? "" : child->text;
}

std::optional<XmlNode> ParseXml(absl::string_view document) {
  const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(XML_ParserCreate("UTF-8"),
                                                                       XML_ParserFree);
  Builder builder = {parser.get(), {}, std::nullopt};
  XML_SetUserData(parser.get(), &builder);
  XML_SetElementHandler(parser.get(), OnStart, OnEnd);
  XML_SetCharacterDataHandler(parser.get(), OnText);
  if (XML_Parse(parser.get(), document.data(), static_cast<int>(document.size()), 1) != XML_STATUS_OK)
    return std::nullopt;
  return builder.root;
}

}  // namespace bucketvol::bucketd
