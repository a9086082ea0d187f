#include "mounter/objstore/expat_document.h"

#include <expat.h>

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"

namespace bucketvol {
namespace {

constexpr size_t kDeepest = 64;

struct Reading {
  XML_Parser parser;
  XmlHandler& handler;
  std::vector<std::string> path;
};

absl::string_view LocalName(const XML_Char* name) {
  const absl::string_view full(name);
  const size_t colon = full.find(':');
  return colon == absl::string_view::npos ? full : full.substr(colon + 1);
}

void Open(void* data, const XML_Char* name, const XML_Char**) {
  auto& reading = *static_cast<Reading*>(data);
  if (reading.path.size() == kDeepest) {
    XML_StopParser(reading.parser, XML_FALSE);
    return;
  }
  reading.path.emplace_back(LocalName(name));
  reading.handler.OnOpen(reading.path);
}

void Close(void* data, const XML_Char*) {
  auto& reading = *static_cast<Reading*>(data);
  reading.handler.OnClose(reading.path);
  reading.path.pop_back();
}

void Text(void* data, const XML_Char* text, int size) {
  static_cast<Reading*>(data)->handler.OnText({text, static_cast<size_t>(size)});
}

void RefuseDocumentType(void* data, const XML_Char*, const XML_Char*, const XML_Char*, int) {
  XML_StopParser(static_cast<Reading*>(data)->parser, XML_FALSE);
}

}  // namespace

absl::Status ReadXml(absl::string_view document, XmlHandler& handler) {
  const std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)> parser(XML_ParserCreate(nullptr),
                                                                            &XML_ParserFree);
  Reading reading = {parser.get(), handler, {}};
  XML_SetUserData(parser.get(), &reading);
  XML_SetElementHandler(parser.get(), Open, Close);
  XML_SetCharacterDataHandler(parser.get(), Text);
  XML_SetStartDoctypeDeclHandler(parser.get(), RefuseDocumentType);
  const XML_Status status =
      XML_Parse(parser.get(), document.data(), static_cast<int>(document.size()), /*isFinal=*/XML_TRUE);
  if (status == XML_STATUS_OK) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the answer is no whole XML document: ", XML_ErrorString(XML_GetErrorCode(parser.get())),
                   " at byte ", XML_GetCurrentByteIndex(parser.get())));
}

}  // namespace bucketvol
