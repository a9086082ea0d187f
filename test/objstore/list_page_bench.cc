// Measures how many listed keys per second one core reads out of XML: list_page_bench [PAGES]

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_format.h"
#include "mounter/base/clock.h"
#include "mounter/objstore/list_page_parser.h"

namespace bucketvol {
namespace {

// A full page of about 243 KB, as OSS writes it.
std::string Page() {
  std::string page =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult>\n  <Name>bucket</Name>\n  "
      "<Prefix></Prefix>\n"
      "  <MaxKeys>1000</MaxKeys>\n  <EncodingType>url</EncodingType>\n  <IsTruncated>true</IsTruncated>\n";
  for (int i = 0; i < 1000; ++i) {
    absl::StrAppendFormat(&page,
                          "  <Contents>\n    <Key>data%%2Ftrain%%2F%08d%%2Fimage-%026d.jpg</Key>\n"
                          "    <LastModified>2024-05-06T07:08:%02d.000Z</LastModified>\n"
                          "    <ETag>\"5B3C1A2E053D763E1B002CC607C5A0FE\"</ETag>\n    <Type>Normal</Type>\n"
                          "    <Size>%d</Size>\n    <StorageClass>Standard</StorageClass>\n  </Contents>\n",
                          i / 100, i, i % 60, 100'000 + i);
  }
  return page + "  <KeyCount>1000</KeyCount>\n</ListBucketResult>\n";
}

ListDocument Document(const std::string& text) {
  ListDocument document{std::make_unique_for_overwrite<char[]>(text.size() + 1), text.size()};
  std::memcpy(document.text.get(), text.data(), text.size());
  return document;
}

void Measure(const char* name, absl::StatusOr<ListPage> (*parse)(ListDocument, Dialect), int pages) {
  const std::string text = Page();
  const absl::Duration begin = Clock::Real().Elapsed();
  size_t keys = 0;
  for (int i = 0; i < pages; ++i) keys += parse(Document(text), Dialect::kOss)->objects.size();
  const double seconds = absl::ToDoubleSeconds(Clock::Real().Elapsed() - begin);
  std::printf("%s: %zu bytes a page, %.2f M keys/s\n", name, text.size(),
              static_cast<double>(keys) / seconds / 1e6);
}

}  // namespace
}  // namespace bucketvol

int main(int argc, char** argv) {
  const int pages = argc > 1 ? std::atoi(argv[1]) : 2000;
  bucketvol::Measure("scanner", bucketvol::ParseListPage, pages);
  bucketvol::Measure("expat", bucketvol::ParseListPageWithExpat, pages);
}
