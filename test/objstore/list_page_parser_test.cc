#include "mounter/objstore/list_page_parser.h"

#include <cstring>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "mounter/objstore/uri_encoding.h"
#include "test/fuzz/list_page_fuzz.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

ListDocument Document(absl::string_view text) {
  ListDocument document{std::make_unique<char[]>(text.size() + 1), text.size()};
  std::memcpy(document.text.get(), text.data(), text.size());
  return document;
}

absl::StatusOr<ListPage> Parse(absl::string_view text, Dialect dialect = Dialect::kOss) {
  return ParseListPage(Document(text), dialect);
}

std::string Listing(absl::string_view content, absl::string_view truncated = "false") {
  return absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult><Name>b</Name><Prefix></Prefix>",
      "<IsTruncated>", truncated, "</IsTruncated>", content, "</ListBucketResult>");
}

std::string Entry(absl::string_view key, absl::string_view more = "") {
  return absl::StrCat("<Contents><Key>", key,
                      "</Key><LastModified>2012-02-24T08:43:07.000Z</LastModified><ETag>\"E\"</ETag>",
                      "<Size>1</Size>", more, "</Contents>");
}

// The example of the OSS API reference, ListObjectsV2.
constexpr char kOssPage[] = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://doc.oss-cn-hangzhou.aliyuncs.com">
<Name>b</Name><Prefix>p/</Prefix><MaxKeys>2</MaxKeys><Delimiter></Delimiter>
<EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><KeyCount>2</KeyCount>
<NextContinuationToken>CgJw%2B%3D%3D</NextContinuationToken>
<Contents><Key>p/a%20b+c%2Bd</Key><LastModified>2012-02-24T08:43:07.000Z</LastModified>
<ETag>"5B3C1A2E053D763E1B002CC607C5A0FE"</ETag><Type>Normal</Type><Size>344606</Size>
<StorageClass>Standard</StorageClass><Owner><ID>00220120222</ID><DisplayName>user</DisplayName></Owner></Contents>
<Contents><Key>p/link</Key><LastModified>2013-02-24T08:43:07.123Z</LastModified><ETag>"E-2"</ETag><Type>Symlink</Type>
<Size>7</Size><StorageClass>ColdArchive</StorageClass></Contents></ListBucketResult>)";

constexpr char kS3Page[] =
    R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix/><KeyCount>3</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>true</IsTruncated><NextContinuationToken>1/a+b=</NextContinuationToken><EncodingType>url</EncodingType><Delimiter>/</Delimiter><Contents><Key>a%0Db</Key><LastModified>2023-05-01T00:00:00Z</LastModified><ETag>&quot;70ee1738b6b21e2c8a43f3a5ab0eee71&quot;</ETag><ChecksumAlgorithm>CRC64NVME</ChecksumAlgorithm><Size>9223372036854775808</Size><StorageClass>GLACIER</StorageClass></Contents><Contents><Key>c</Key><Size>0</Size><StorageClass>GLACIER_IR</StorageClass></Contents><CommonPrefixes><Prefix>d%2Fe/</Prefix></CommonPrefixes></ListBucketResult>)";

TEST(ListPageParserTest, ReadsAnOssPage) {
  EXPECT_TRUE(ListScannerTakes(kOssPage, Dialect::kOss));
  ASSERT_OK_AND_ASSIGN(const ListPage page, Parse(kOssPage));
  EXPECT_TRUE(page.truncated);
  EXPECT_EQ(page.next_token, "CgJw+==");
  EXPECT_EQ(page.body_bytes, sizeof(kOssPage) - 1);
  ASSERT_EQ(page.objects.size(), 2u);
  EXPECT_EQ(page.objects[0].key, "p/a b c+d");
  EXPECT_EQ(page.objects[0].etag, "5B3C1A2E053D763E1B002CC607C5A0FE");
  EXPECT_EQ(page.objects[0].size, 344606u);
  EXPECT_EQ(page.objects[0].modified_ms, 1330072987000);
  EXPECT_EQ(page.objects[0].kind, ListedObject::Kind::kNormal);
  EXPECT_FALSE(page.objects[0].archived);
  EXPECT_EQ(page.objects[1].kind, ListedObject::Kind::kSymlink);
  EXPECT_EQ(page.objects[1].modified_ms, 1361695387123);
  EXPECT_TRUE(page.objects[1].archived);
}

TEST(ListPageParserTest, ReadsAnS3Page) {
  EXPECT_TRUE(ListScannerTakes(kS3Page, Dialect::kS3));
  ASSERT_OK_AND_ASSIGN(const ListPage page, Parse(kS3Page, Dialect::kS3));
  EXPECT_EQ(page.next_token, "1/a+b=");  // AWS does not encode tokens.
  ASSERT_EQ(page.objects.size(), 2u);
  EXPECT_EQ(page.objects[0].key, "a\rb");
  EXPECT_EQ(page.objects[0].etag, "70ee1738b6b21e2c8a43f3a5ab0eee71");
  EXPECT_EQ(page.objects[0].size, uint64_t{1} << 63);
  EXPECT_EQ(page.objects[0].modified_ms, 1682899200000);
  EXPECT_TRUE(page.objects[0].archived);
  EXPECT_FALSE(page.objects[1].archived);
  EXPECT_EQ(page.objects[1].etag, "");
  EXPECT_EQ(page.common_prefixes, std::vector<absl::string_view>{"d/e/"});
}

TEST(ListPageParserTest, KeysAreDecodedOnlyWhenEncoded) {
  ASSERT_OK_AND_ASSIGN(const ListPage page, Parse(Listing(Entry("a%20b+c&amp;&#13;&lt;&#xE9;"))));
  ASSERT_EQ(page.objects.size(), 1u);
  EXPECT_EQ(page.objects[0].key, "a%20b+c&\r<\xC3\xA9");
}

TEST(ListPageParserTest, EntitiesAreDecodedBeforeUrlEncoding) {
  ASSERT_OK_AND_ASSIGN(
      const ListPage page,
      Parse(Listing(absl::StrCat("<EncodingType>url</EncodingType>", Entry("%26amp;&#37;41%00")))));
  EXPECT_EQ(page.objects[0].key, absl::string_view("&amp;A\0", 7));
}

TEST(ListPageParserTest, RestoredArchivesCanBeRead) {
  const auto archived = [](absl::string_view restore) {
    const auto page = Parse(Listing(Entry(
        "k", absl::StrCat("<StorageClass>Archive</StorageClass><RestoreInfo>", restore, "</RestoreInfo>"))));
    return page.ok() && page->objects[0].archived;
  };
  EXPECT_TRUE(archived(""));
  EXPECT_TRUE(archived("ongoing-request=\"true\""));
  EXPECT_FALSE(archived("ongoing-request=\"false\", expiry-date=\"Thu, 24 Sep 2020 12:40:33 GMT\""));
  EXPECT_FALSE(archived("ongoing-request=&quot;false&quot;"));
}

TEST(ListPageParserTest, VersionOneGivesTheMarker) {
  ASSERT_OK_AND_ASSIGN(
      const ListPage page,
      Parse(Listing("<EncodingType>url</EncodingType><Marker/><NextMarker>a%2Fb</NextMarker>", "true")));
  EXPECT_EQ(page.next_token, "a/b");
}

// What only expat takes.
TEST(ListPageParserTest, TakesWhateverXmlAllows) {
  const std::string forms[] = {
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key><![CDATA[a<b]]></Key><Size>1</Size></"
      "Contents>"
      "</ListBucketResult>",
      "<s3:ListBucketResult "
      "xmlns:s3='x'><s3:IsTruncated>false</s3:IsTruncated><s3:Contents><s3:Key>a&lt;b</s3:Key>"
      "<s3:Size>1</s3:Size></s3:Contents></s3:ListBucketResult>",
      "<ListBucketResult><!-- c --><IsTruncated >false</IsTruncated><Contents "
      "id='1'><Key>a&#x3c;b</Key><Size>1</Size>"
      "</Contents></ListBucketResult><!-- end -->"};
  for (const std::string& form : forms) {
    EXPECT_FALSE(ListScannerTakes(form, Dialect::kS3)) << form;
    const absl::StatusOr<ListPage> page = Parse(form, Dialect::kS3);
    ASSERT_OK(page) << form;
    ASSERT_EQ(page->objects.size(), 1u);
    EXPECT_EQ(page->objects[0].key, "a<b");
  }
}

TEST(ListPageParserTest, Utf8WithoutEncodingIsKept) {
  ASSERT_OK_AND_ASSIGN(const ListPage page, Parse(Listing(Entry("\xE4\xBD\xA0/\xC3\xA9"))));
  EXPECT_EQ(page.objects[0].key, "\xE4\xBD\xA0/\xC3\xA9");
}

TEST(ListPageParserTest, ACutDocumentIsNeverTheEndOfTheList) {
  for (const absl::string_view whole : {absl::string_view(kOssPage), absl::string_view(kS3Page)}) {
    for (size_t size = 0; size < whole.size(); ++size) {
      ASSERT_THAT(Parse(whole.substr(0, size)), StatusIs(absl::StatusCode::kDataLoss, ::testing::_)) << size;
    }
  }
}

TEST(ListPageParserTest, RefusesWhatCannotBeRead) {
  const auto refused = [](absl::string_view content, absl::string_view why) {
    EXPECT_THAT(Parse(Listing(content)), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(std::string(why))));
    EXPECT_THAT(ParseListPageWithExpat(Document(Listing(content)), Dialect::kOss),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr(std::string(why))));
  };
  refused("<Contents/>", "without key");
  refused("<Contents><Size>1</Size></Contents>", "without key");
  refused("<Contents><Key>k</Key></Contents>", "a size");
  refused("<Contents><Key>k</Key><Size>-1</Size></Contents>", "a size");
  refused("<Contents><Key>k</Key><Size>9223372036854775809</Size></Contents>", "a size");
  refused("<Contents><Key>k</Key><Size>1</Size><LastModified>yesterday</LastModified></Contents>", "a date");
  refused("<CommonPrefixes></CommonPrefixes>", "empty common prefix");
  refused("<KeyCount>2</KeyCount>", "KeyCount");
  refused("<EncodingType>url</EncodingType>" + Entry("a%2"), "an encoded key");
  refused("<IsTruncated/>", "IsTruncated");
}

TEST(ListPageParserTest, RefusesReferencesToWhatIsNoCharacter) {
  for (const char* reference :
       {"&#0;", "&#1;", "&#xD800;", "&#xFFFE;", "&#x110000;", "&#4294967361;", "&#x;", "&#;", "&#65"}) {
    const std::string document = Listing(Entry(reference));
    EXPECT_FALSE(ListScannerTakes(document, Dialect::kOss)) << reference;
    EXPECT_THAT(Parse(document), StatusIs(absl::StatusCode::kDataLoss, ::testing::_)) << reference;
  }
}

TEST(ListPageParserTest, RefusesOtherDocuments) {
  EXPECT_THAT(Parse("<Error><Code>x</Code></Error>"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no listing")));
  EXPECT_THAT(Parse("<ListBucketResult></ListBucketResult>"),
              StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
  EXPECT_THAT(Parse(absl::StrCat(kS3Page, "<x/>"), Dialect::kS3),
              StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
  EXPECT_THAT(Parse(""), StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
  EXPECT_THAT(Parse("<!DOCTYPE a [<!ENTITY e "
                    "'x'>]><ListBucketResult><IsTruncated>&e;</IsTruncated></ListBucketResult>"),
              StatusIs(absl::StatusCode::kDataLoss, ::testing::_));
}

// --- The two readers give one answer ---

class RandomListing {
 public:
  explicit RandomListing(uint32_t seed) : random_(seed) {}

  std::string Make() {
    std::string content;
    const bool encoded = Chance(2);
    if (encoded) content += "<EncodingType>url</EncodingType>";
    for (int i = Below(6); i > 0; --i) content += Chance(6) ? Prefix(encoded) : Contents(encoded);
    std::string document = Listing(content, Chance(2) ? "true" : "false");
    if (Chance(4)) document = absl::StrReplaceAll(document, {{"><", ">\n  <"}});
    if (Chance(3)) Damage(document);
    return document;
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }
  bool Chance(int in) { return Below(in) == 0; }

  std::string Key(bool encoded) {
    static constexpr const char* kParts[] = {"a",     "/",        "%",     "+",    " ",        "]",
                                             "]]>",   "&amp;",    "&#13;", "&#0;", "&lt;",     "&quot;",
                                             "&bad;", "\xC3\xA9", "\x01",  "\xFF", "\t",       "\n",
                                             "\r",    "'",        "\"",    ">",    "&#x1F600;"};
    std::string key;
    for (int i = Below(5); i >= 0; --i) key += kParts[Chance(2) ? 0 : Below(std::size(kParts))];
    return encoded && !Chance(4) ? EncodeQueryPart(key) : key;
  }

  std::string Contents(bool encoded) {
    static constexpr const char* kMore[] = {"",
                                            "<Type>Symlink</Type>",
                                            "<Owner><ID>1</ID><DisplayName/></Owner>",
                                            "<Key>twice</Key>",
                                            "<Owner><Key>not this</Key></Owner>",
                                            "<Size/>",
                                            "stray",
                                            "<ETag/>",
                                            "<StorageClass>Archive</StorageClass>",
                                            "<Key attribute='1'>k</Key>",
                                            "<Other><Deep><Key>x</Key></Deep>text</Other>",
                                            "<ETag>W/&quot;x&quot;</ETag>"};
    return Entry(Key(encoded), Chance(2) ? "" : kMore[Below(std::size(kMore))]);
  }

  std::string Prefix(bool encoded) {
    return absl::StrCat("<CommonPrefixes><Prefix>", Key(encoded), "</Prefix></CommonPrefixes>");
  }

  void Damage(std::string& document) {
    const size_t at = random_() % document.size();
    switch (Below(4)) {
      case 0:
        document.resize(at);
        break;
      case 1:
        document.erase(at, 1);
        break;
      case 2:
        document[at] = "<>&/\"x]"[Below(7)];
        break;
      case 3:
        document.insert(at, document.substr(random_() % document.size(), 12));
        break;
    }
  }

  std::mt19937 random_;
};

TEST(ListPageParserTest, BothReadersAgreeOnRandomDocuments) {
  int scanned = 0, good = 0;
  for (uint32_t seed = 0; seed < 20'000; ++seed) {
    const std::string document = RandomListing(seed).Make();
    ASSERT_EQ(DifferenceOfListReaders(document), "") << "seed " << seed << "\n" << document;
    scanned += ListScannerTakes(document, Dialect::kOss) ? 1 : 0;
    good += Parse(document).ok() ? 1 : 0;
  }
  EXPECT_GT(scanned, 3'000);  // The test would be worthless if one reader did all the work.
  EXPECT_GT(good, scanned);
}

}  // namespace
}  // namespace bucketvol
