#include "test/bucketd/list_xml.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/bucketd/synthetic_bucket.h"
#include "test/bucketd/text.h"
#include "test/bucketd/xml.h"

namespace bucketvol::bucketd {
namespace {

using ::testing::ElementsAre;

/// A bucket of given keys, for the rules of listing.
class KeyListBucket final : public Bucket {
 public:
  explicit KeyListBucket(std::set<std::string> keys) : Bucket("names"), keys_(std::move(keys)) {}
  int64_t created() const override { return 0; }
  Outcome<OpenObject> Open(absl::string_view) override { return ErrorKind::kNoSuchKey; }
  void Scan(absl::string_view from, Bound bound, EntryVisitor& visitor) override {
    const std::string start(from);
    auto next = bound == Bound::kAt ? keys_.lower_bound(start) : keys_.upper_bound(start);
    while (next != keys_.end()) {
      const EntryVisitor::Step step = visitor.Visit(
          {*next, "0123456789abcdef0123456789abcdef", next->size(), 1'330'073'287, ObjectType::kNormal, ""});
      if (step == EntryVisitor::Step::kStop) return;
      if (step == EntryVisitor::Step::kNext) {
        ++next;
      } else {
        const auto end = PrefixEnd(visitor.skip_prefix());
        next = end.has_value() ? keys_.lower_bound(*end) : keys_.end();
      }
    }
  }

 private:
  const std::set<std::string> keys_;
};

XmlNode Parse(const ListDocument& document) {
  const std::optional<XmlNode> root = ParseXml(document.head + document.body);
  EXPECT_TRUE(root.has_value()) << document.head << document.body;
  return root.value_or(XmlNode());
}

std::string Decoded(const XmlNode& root, const std::string& text) {
  return root.ChildText("EncodingType") == "url" ? PercentDecode(text, true) : text;
}

std::vector<std::string> KeysOf(const XmlNode& root) {
  std::vector<std::string> keys;
  for (const XmlNode& node : root.children) {
    if (node.name == "Contents" || node.name == "Version")
      keys.push_back(Decoded(root, node.ChildText("Key")));
    if (node.name == "CommonPrefixes") keys.push_back(Decoded(root, node.ChildText("Prefix")));
  }
  return keys;
}

// Pages through with the query's own version until the end; each page must hold no more than asked for.
std::vector<std::string> ListAll(Bucket& bucket, ListQuery query) {
  std::vector<std::string> all;
  for (;;) {
    const XmlNode root = Parse(WriteListPage(bucket, query));
    const std::vector<std::string> page = KeysOf(root);
    EXPECT_LE(page.size(), query.max_keys);
    all.insert(all.end(), page.begin(), page.end());
    if (root.ChildText("IsTruncated") != "true") return all;
    if (query.version == ListVersion::kV2) {
      query.continuation_token = root.ChildText("NextContinuationToken");
    } else {
      query.marker =
          Decoded(root, root.ChildText(query.version == ListVersion::kV1 ? "NextMarker" : "NextKeyMarker"));
    }
  }
}

// What listing means, straight from its definition. Groups and keys in one order. A group that the marker
// lies in is left out, although keys of it follow: so do S3, MinIO and versitygw.
std::vector<std::string> Reference(const std::set<std::string>& keys, const ListQuery& query) {
  std::set<std::string> items;
  for (const std::string& key : keys) {
    if (key <= query.marker || key.rfind(query.prefix, 0) != 0) continue;
    const size_t end =
        query.delimiter.empty() ? std::string::npos : key.find(query.delimiter, query.prefix.size());
    const std::string item = end == std::string::npos ? key : key.substr(0, end + query.delimiter.size());
    if (end != std::string::npos && query.marker.rfind(item, 0) == 0) continue;
    items.insert(item);
  }
  return {items.begin(), items.end()};
}

std::set<std::string> SyntheticKeys(const std::string& spec) {
  const KeyFormula formula(ParseSyntheticSpec(spec).value());
  std::set<std::string> keys;
  for (uint64_t i = 0; i < formula.size(); ++i) keys.insert(formula.At(i));
  return keys;
}

std::vector<std::string> Sorted(std::vector<std::string> items) {
  std::sort(items.begin(), items.end());
  return items;
}

class SyntheticListTest : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Shapes, SyntheticListTest,
                         ::testing::Values("b:keys=200,per-dir=7", "b:keys=200,shape=flat",
                                           "b:keys=200,per-dir=3,shape=skewed",
                                           "b:keys=200,per-dir=2,shape=deep"));

TEST_P(SyntheticListTest, EqualsTheDefinition) {
  const std::set<std::string> keys = SyntheticKeys(GetParam());
  SyntheticBucket bucket(ParseSyntheticSpec(GetParam()).value());
  const std::string middle = *std::next(keys.begin(), 77);
  for (const std::string& prefix :
       {std::string(), middle.substr(0, 2), middle.substr(0, middle.rfind('/') + 1), middle}) {
    for (const std::string& marker :
         {std::string(), middle, middle + "x", middle.substr(0, 3), std::string("~")}) {
      for (const char* delimiter : {"", "/", "_"}) {
        ListQuery query;
        query.prefix = prefix;
        query.marker = marker;
        query.delimiter = delimiter;
        query.max_keys = 9;
        ASSERT_EQ(Sorted(ListAll(bucket, query)), Reference(keys, query))
            << "prefix=" << prefix << " marker=" << marker << " delimiter=" << delimiter;
      }
    }
  }
}

const std::set<std::string>& HostileKeys() {
  static const std::set<std::string> keys = {"a",
                                             "a/",
                                             "a/b",
                                             "a//b",
                                             "a/b/c",
                                             "a b",
                                             "a-b",
                                             "a+b",
                                             "a%2Fb",
                                             "amp&<>\"'",
                                             "\x01\x1f\x7f",
                                             "nl\nhere",
                                             "\xc3\xa9/\xc3\xbc",
                                             "/lead",
                                             "..",
                                             "../x",
                                             "q?x#y",
                                             "z\xef\xbf\xbd",
                                             std::string("x") + std::string(1000, 'y')};
  return keys;
}

TEST(ListTest, HostileKeysSurviveBothEncodings) {
  KeyListBucket bucket(HostileKeys());
  for (const Dialect dialect : {Dialect::kOss, Dialect::kS3}) {
    for (const ListVersion version : {ListVersion::kV1, ListVersion::kV2, ListVersion::kVersions}) {
      for (const char* delimiter : {"", "/"}) {
        ListQuery query;
        query.dialect = dialect;
        query.version = version;
        query.url_encoding = true;
        query.delimiter = delimiter;
        query.max_keys = 2;
        if (version == ListVersion::kV1 && dialect == Dialect::kS3 && query.delimiter.empty()) continue;
        EXPECT_EQ(Sorted(ListAll(bucket, query)), Reference(HostileKeys(), query));
      }
    }
  }
}

TEST(ListTest, WithoutEncodingSpecialCharactersAreEntities) {
  KeyListBucket bucket({"amp&<>\"'"});
  const ListDocument document = WriteListPage(bucket, ListQuery());
  EXPECT_THAT(document.body, ::testing::HasSubstr("<Key>amp&amp;&lt;&gt;&quot;'</Key>"));
}

TEST(ListTest, EncodedTextUsesPercentNotPlus) {
  KeyListBucket bucket({"a b+c/\xc3\xa9"});
  ListQuery query;
  query.url_encoding = true;
  EXPECT_THAT(WriteListPage(bucket, query).body, ::testing::HasSubstr("<Key>a%20b%2Bc/%C3%A9</Key>"));
}

TEST(ListTest, OssEntryIsComplete) {
  KeyListBucket bucket({"k"});
  ListQuery query;
  query.dialect = Dialect::kOss;
  const XmlNode root = Parse(WriteListPage(bucket, query));
  const XmlNode& entry = *root.Child("Contents");
  EXPECT_EQ(entry.ChildText("ETag"), "\"0123456789ABCDEF0123456789ABCDEF\"");
  EXPECT_EQ(entry.ChildText("Type"), "Normal");
  EXPECT_EQ(entry.ChildText("Size"), "1");
  EXPECT_EQ(entry.ChildText("StorageClass"), "Standard");
  EXPECT_EQ(entry.ChildText("LastModified"), "2012-02-24T08:48:07.000Z");
  EXPECT_EQ(entry.Child("Owner"), nullptr);
  EXPECT_EQ(root.ChildText("KeyCount"), "1");
}

TEST(ListTest, S3EntryIsComplete) {
  KeyListBucket bucket({"k"});
  ListQuery query;
  query.owner = true;
  const XmlNode root = Parse(WriteListPage(bucket, query));
  const XmlNode& entry = *root.Child("Contents");
  EXPECT_EQ(entry.ChildText("ETag"), "\"0123456789abcdef0123456789abcdef\"");
  EXPECT_EQ(entry.ChildText("StorageClass"), "STANDARD");
  EXPECT_EQ(entry.Child("Type"), nullptr);
  EXPECT_NE(entry.Child("Owner"), nullptr);
}

TEST(ListTest, ZeroKeysAreNotTruncated) {
  KeyListBucket bucket({"a", "b"});
  ListQuery query;
  query.max_keys = 0;
  const XmlNode root = Parse(WriteListPage(bucket, query));
  EXPECT_EQ(root.ChildText("IsTruncated"), "false");
  EXPECT_THAT(KeysOf(root), ElementsAre());
}

TEST(ListTest, ExactlyFullPageIsNotTruncated) {
  KeyListBucket bucket({"a", "b/1", "b/2"});
  ListQuery query;
  query.delimiter = "/";
  query.max_keys = 2;
  const XmlNode root = Parse(WriteListPage(bucket, query));
  EXPECT_EQ(root.ChildText("IsTruncated"), "false");
  EXPECT_THAT(KeysOf(root), ElementsAre("a", "b/"));
}

TEST(ListTest, ForeignTokensAreTold) {
  std::string last;
  EXPECT_FALSE(ReadContinuationToken("bogus!", last));
  EXPECT_FALSE(ReadContinuationToken("YWJj", last));
  ASSERT_TRUE(ReadContinuationToken(MakeContinuationToken("a/\xff"), last));
  EXPECT_EQ(last, "a/\xff");
}

TEST(ListDamageTest, EmptyTruncatedPageKeepsItsPlace) {
  KeyListBucket bucket({"a", "b"});
  ListQuery query;
  query.marker = "a";
  const XmlNode root = Parse(WriteListPage(bucket, query, ListDamage::kEmptyTruncated));
  EXPECT_EQ(root.ChildText("IsTruncated"), "true");
  EXPECT_THAT(KeysOf(root), ElementsAre());
  query.continuation_token = root.ChildText("NextContinuationToken");
  EXPECT_THAT(KeysOf(Parse(WriteListPage(bucket, query))), ElementsAre("b"));
}

TEST(ListDamageTest, RepeatedPageStartsAnew) {
  KeyListBucket bucket({"a", "b", "c"});
  ListQuery query;
  query.marker = "b";
  EXPECT_THAT(KeysOf(Parse(WriteListPage(bucket, query, ListDamage::kRepeatPage))),
              ElementsAre("a", "b", "c"));
}

TEST(ListDamageTest, OutOfOrderSwapsTheFirstTwo) {
  KeyListBucket bucket({"a", "b", "c"});
  EXPECT_THAT(KeysOf(Parse(WriteListPage(bucket, ListQuery(), ListDamage::kOutOfOrder))),
              ElementsAre("b", "a", "c"));
}

TEST(ListDamageTest, BrokenXmlDoesNotParse) {
  KeyListBucket bucket({"a", "b", "c"});
  for (const ListDamage damage : {ListDamage::kBadXml, ListDamage::kCutXml}) {
    const ListDocument document = WriteListPage(bucket, ListQuery(), damage);
    EXPECT_FALSE(ParseXml(document.head + document.body).has_value());
  }
}

}  // namespace
}  // namespace bucketvol::bucketd
