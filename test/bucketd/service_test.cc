// What is read from and written to buckets, over real sockets.
#include "absl/strings/escaping.h"
#include "mounter/base/crc.h"
#include "test/bucketd/digest.h"
#include "test/bucketd/service_fixture.h"

namespace bucketvol::bucketd {
namespace {

using ::testing::HasSubstr;

TEST_F(ServiceTest, GivesTheBytesOfTheFormula) {
  EXPECT_EQ(Get().body, Expected(Key()));
  const HttpAnswer part = Get({{"Range", "bytes=3-12"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.Header("content-range"), "bytes 3-12/1000");
  EXPECT_EQ(part.body, Expected(Key()).substr(3, 10));
}

TEST_F(ServiceTest, RangesFollowTheDialect) {
  EXPECT_EQ(CodeOf(Get({{"Range", "bytes=1000-"}})), "416 InvalidRange");
  EXPECT_EQ(Get(With(Oss(), {{"Range", "bytes=1000-"}})).status, 200);
  EXPECT_EQ(CodeOf(Get({{"Range", "bytes=1000-"}, {"x-oss-range-behavior", "standard"}})),
            "416 InvalidRange");
  EXPECT_EQ(Get(With(Oss(), {{"Range", "bytes=0-1,3-4"}})).status, 400);
  EXPECT_EQ(Get({{"Range", "bytes=0-1,3-4"}}).status, 200);
}

TEST_F(ServiceTest, EtagConditions) {
  const std::string etag = Get().Header("etag");
  EXPECT_EQ(Get({{"If-Match", etag}}).status, 200);
  EXPECT_EQ(Get({{"If-Match", ToUpper(etag)}}).status, 200);
  EXPECT_EQ(CodeOf(Get({{"If-Match", "\"other\""}})), "412 PreconditionFailed");
  EXPECT_EQ(Get({{"If-None-Match", etag}}).status, 304);
  EXPECT_EQ(Get({{"If-None-Match", "\"other\""}}).status, 200);
}

TEST_F(ServiceTest, TimeConditions) {
  const std::string modified = Get().Header("last-modified");
  const std::string before = "Sat, 01 Jan 2000 00:00:00 GMT";
  EXPECT_EQ(Get({{"If-Modified-Since", modified}}).status, 304);
  EXPECT_EQ(Get({{"If-Modified-Since", before}}).status, 200);
  EXPECT_EQ(Get({{"If-Unmodified-Since", modified}}).status, 200);
  EXPECT_EQ(Get({{"If-Unmodified-Since", before}}).status, 412);
}

TEST_F(ServiceTest, HeadTellsTheSizeWithoutBytes) {
  const HttpAnswer answer = service_.Do("HEAD", "/syn/" + Key(), Oss());
  EXPECT_EQ(answer.Header("content-length"), "1000");
  EXPECT_EQ(answer.Header("x-oss-object-type"), "Normal");
  EXPECT_EQ(answer.Header("x-oss-storage-class"), "Standard");
  EXPECT_EQ(answer.Header("etag"), ToUpper(Get().Header("etag")));
  const HttpAnswer meta = service_.Do("HEAD", "/syn/" + Key() + "?objectMeta", Oss());
  EXPECT_EQ(meta.Header("content-length"), "1000");
  EXPECT_EQ(meta.Header("content-type"), "");
}

TEST_F(ServiceTest, ListingDefaultsDifferByDialect) {
  EXPECT_EQ(ParseXml(service_.Get("/syn/?list-type=2", Oss()).body)->ChildText("KeyCount"), "100");
  EXPECT_EQ(ParseXml(service_.Get("/syn/?list-type=2").body)->ChildText("KeyCount"), "1000");
  EXPECT_EQ(CodeOf(service_.Get("/syn/?max-keys=1001", Oss())), "400 InvalidArgument");
  EXPECT_EQ(service_.Get("/syn/?max-keys=1001").status, 200);
  EXPECT_EQ(CodeOf(service_.Get("/syn/?list-type=2&continuation-token=zzz")), "400 InvalidArgument");
}

TEST_F(ServiceTest, MissingThingsHaveTheirCodes) {
  EXPECT_EQ(CodeOf(service_.Get("/nobucket/?list-type=2")), "404 NoSuchBucket");
  EXPECT_EQ(CodeOf(service_.Get("/nobucket/key")), "404 NoSuchBucket");
  EXPECT_EQ(CodeOf(service_.Get("/syn/nokey")), "404 NoSuchKey");
  const HttpAnswer oss = service_.Get("/syn/nokey", Oss());
  EXPECT_EQ(ParseXml(oss.body)->ChildText("EC"), "0026-00000001");
  EXPECT_EQ(ParseXml(oss.body)->ChildText("Key"), "nokey");
  EXPECT_EQ(CodeOf(service_.Get("/?x", {{"Host", "missing.localhost"}})), "404 NoSuchBucket");
}

TEST_F(ServiceTest, HostAndPathNameTheBucket) {
  const std::string body = Expected(Key());
  EXPECT_EQ(service_.Get("/" + Key(), {{"Host", "syn.oss-cn-hangzhou.aliyuncs.com"}}).body, body);
  EXPECT_EQ(service_.Get("/" + Key(), {{"Host", "syn.localhost:1234"}}).body, body);
  EXPECT_EQ(service_.Get("/syn/" + Key(), {{"Host", "localhost:1234"}}).body, body);
  EXPECT_EQ(service_.Get("/syn/" + Key(), {{"Host", "s3.test.localhost:1234"}}).body, body);
  EXPECT_EQ(service_.Get("/" + Key(), {{"Host", "syn.s3.test.localhost:1234"}}).body, body);
  EXPECT_EQ(service_.Get("/syn/" + Key(), {{"Host", "[::1]:1234"}}).body, body);
  EXPECT_EQ(service_.Get("/syn/" + Key(), {{"Host", "store.default.svc"}}).body, body);
  EXPECT_EQ(service_.Get("http://syn.example.com/" + Key(), {{"Host", "proxy"}}).body, body);
}

TEST_F(ServiceTest, SyntheticBucketsAreReadOnly) {
  EXPECT_EQ(CodeOf(service_.Do("PUT", "/syn/k", {}, "x")), "403 AccessDenied");
  EXPECT_EQ(service_.Do("DELETE", "/syn/" + Key()).status, 403);
  EXPECT_EQ(service_.Do("DELETE", "/syn").status, 403);
}

TEST_F(ServiceTest, PutStoresBytesAndHeaders) {
  const HttpAnswer put =
      Put("k", "hello",
          {{"x-oss-meta-Colour", "red"}, {"Content-Type", "text/x"}, {"Cache-Control", "no-store"}});
  EXPECT_EQ(put.Header("etag"), "\"" + ToUpper(HexLower(DigestOf(DigestKind::kMd5, "hello"))) + "\"");
  EXPECT_EQ(put.Header("x-oss-hash-crc64ecma"), absl::StrCat(Crc64(0, "hello")));
  const HttpAnswer get = service_.Get("/bucket/k", Oss());
  EXPECT_EQ(get.body, "hello");
  EXPECT_EQ(get.Header("x-oss-meta-colour"), "red");
  EXPECT_EQ(get.Header("content-type"), "text/x");
  EXPECT_EQ(get.Header("cache-control"), "no-store");
  EXPECT_EQ(get.Header("x-oss-hash-crc64ecma"), absl::StrCat(Crc64(0, "hello")));
  EXPECT_EQ(service_.Get("/bucket/k?response-content-type=a/b").Header("content-type"), "a/b");
  EXPECT_EQ(service_.Get("/bucket/k?response-content-language=de").Header("content-language"), "de");
}

// A client compares the checksum with what it got, so a part must not carry that of the whole.
TEST_F(ServiceTest, ChecksumsGoWithWholeObjects) {
  ASSERT_EQ(Put("k", "hello", {{"x-amz-checksum-crc32", "NhCmhg=="}}).status, 200);
  const HeaderList ask = {{"x-amz-checksum-mode", "ENABLED"}};
  EXPECT_EQ(service_.Get("/bucket/k", ask).Header("x-amz-checksum-crc32"), "NhCmhg==");
  EXPECT_EQ(service_.Get("/bucket/k", ask).Header("x-amz-checksum-type"), "FULL_OBJECT");
  EXPECT_EQ(service_.Get("/bucket/k", With(ask, {{"Range", "bytes=0-1"}})).Header("x-amz-checksum-crc32"),
            "");
  EXPECT_EQ(service_.Get("/bucket/k").Header("x-amz-checksum-crc32"), "");
  EXPECT_EQ(CodeOf(Put("k", "hello", {{"x-amz-checksum-crc32", "AAAA"}})), "400 InvalidRequest");
}

TEST_F(ServiceTest, WriteConditions) {
  ASSERT_EQ(Put("k", "1").status, 200);
  EXPECT_EQ(CodeOf(Put("k", "2", {{"x-oss-forbid-overwrite", "true"}})), "409 FileAlreadyExists");
  EXPECT_EQ(CodeOf(Put("k", "2", {{"If-None-Match", "*"}})), "412 PreconditionFailed");
  EXPECT_EQ(Put("new", "2", {{"x-oss-forbid-overwrite", "true"}}).status, 200);
  EXPECT_EQ(Read("k"), "1");
}

TEST_F(ServiceTest, ContentMd5IsCompared) {
  const std::string md5 = absl::Base64Escape(DigestOf(DigestKind::kMd5, "body"));
  EXPECT_EQ(Put("k", "body", {{"Content-MD5", md5}}).status, 200);
  EXPECT_EQ(CodeOf(Put("k", "b0dy", {{"Content-MD5", md5}})), "400 BadDigest");
  EXPECT_EQ(CodeOf(Put("k", "b0dy", With(Oss(), {{"Content-MD5", md5}}))), "400 InvalidDigest");
  EXPECT_EQ(CodeOf(Put("k", "body", {{"Content-MD5", "short"}})), "400 InvalidDigest");
  EXPECT_EQ(Read("k"), "body");
}

TEST_F(ServiceTest, KeysThatTheServiceRefuses) {
  EXPECT_EQ(CodeOf(Put(std::string(1025, 'x'), "")), "400 KeyTooLongError");
  EXPECT_EQ(Put(std::string(1024, 'x'), "").status, 200);
  EXPECT_EQ(CodeOf(Put(std::string(1024, 'x'), "", Oss())), "400 InvalidObjectName");
  EXPECT_EQ(CodeOf(Put("/lead", "", Oss())), "400 InvalidObjectName");
  EXPECT_EQ(Put("/lead", "").status, 200);
}

TEST_F(ServiceTest, DeleteIsQuiet) {
  ASSERT_EQ(Put("k", "1").status, 200);
  EXPECT_EQ(service_.Do("DELETE", "/bucket/k").status, 204);
  EXPECT_EQ(service_.Do("DELETE", "/bucket/k").status, 204);
  EXPECT_EQ(service_.Get("/bucket/k").status, 404);
}

TEST_F(ServiceTest, BatchDelete) {
  for (const char* key : {"a&b", "c", "d"}) ASSERT_EQ(Put(key, "1").status, 200);
  const std::string body =
      "<Delete><Quiet>false</Quiet><Object><Key>a&amp;b</Key></Object><Object><Key>c</Key></Object></Delete>";
  EXPECT_EQ(CodeOf(service_.Do("POST", "/bucket/?delete", {}, body)), "400 InvalidRequest");
  const HeaderList md5 = {{"Content-MD5", absl::Base64Escape(DigestOf(DigestKind::kMd5, body))}};
  const HttpAnswer answer = service_.Do("POST", "/bucket/?delete", md5, body);
  EXPECT_THAT(answer.body, HasSubstr("<Deleted><Key>a&amp;b</Key></Deleted>"));
  const HttpAnswer list = service_.Get("/bucket/");
  EXPECT_EQ(ParseXml(list.body)->Child("Contents")->ChildText("Key"), "d");
}

TEST_F(ServiceTest, CopyKeepsOrReplacesMetadata) {
  ASSERT_EQ(Put("a b", "data", {{"x-amz-meta-k", "v"}}).status, 200);
  EXPECT_EQ(Put("copy", "", {{"x-amz-copy-source", "/bucket/a%20b"}}).status, 200);
  EXPECT_EQ(service_.Get("/bucket/copy").Header("x-amz-meta-k"), "v");
  EXPECT_EQ(Put("copy", "",
                {{"x-amz-copy-source", "bucket/a%20b"},
                 {"x-amz-metadata-directive", "REPLACE"},
                 {"x-amz-meta-n", "w"}})
                .status,
            200);
  const HttpAnswer replaced = service_.Get("/bucket/copy");
  EXPECT_EQ(replaced.body, "data");
  EXPECT_EQ(replaced.Header("x-amz-meta-k"), "");
  EXPECT_EQ(replaced.Header("x-amz-meta-n"), "w");
  EXPECT_EQ(CodeOf(Put("copy", "", {{"x-amz-copy-source", "bucket/none"}})), "404 NoSuchKey");
  EXPECT_EQ(CodeOf(Put("copy", "", {{"x-amz-copy-source", "bucket/copy"}})), "400 InvalidRequest");
  EXPECT_EQ(
      CodeOf(Put("c2", "", {{"x-amz-copy-source", "bucket/copy"}, {"x-amz-copy-source-if-match", "\"x\""}})),
      "412 PreconditionFailed");
  EXPECT_EQ(Put("syn", "", {{"x-amz-copy-source", "syn/" + Key()}}).status, 200);
  EXPECT_EQ(Read("syn"), Expected(Key()));
}

TEST_F(ServiceTest, AppendGrowsAnObject) {
  const auto append = [&](const std::string& key, int position, const std::string& data) {
    return service_.Do("POST", absl::StrCat("/bucket/", key, "?append&position=", position), Oss(), data);
  };
  EXPECT_EQ(append("log", 0, "one").Header("x-oss-next-append-position"), "3");
  const HttpAnswer second = append("log", 3, "two");
  EXPECT_EQ(second.Header("x-oss-next-append-position"), "6");
  EXPECT_EQ(second.Header("x-oss-hash-crc64ecma"), absl::StrCat(Crc64(0, "onetwo")));
  EXPECT_EQ(Read("log"), "onetwo");
  EXPECT_EQ(CodeOf(append("log", 3, "x")), "409 PositionNotEqualToLength");
  ASSERT_EQ(Put("normal", "x").status, 200);
  EXPECT_EQ(CodeOf(append("normal", 1, "x")), "409 ObjectNotAppendable");
  EXPECT_EQ(service_.Do("HEAD", "/bucket/log", Oss()).Header("x-oss-object-type"), "Appendable");
}

TEST_F(ServiceTest, SymlinksAreFollowedOnce) {
  ASSERT_EQ(Put("target", "data").status, 200);
  const auto link = [&](const std::string& key, const std::string& target) {
    return service_.Do("PUT", "/bucket/" + key + "?symlink", {{"x-oss-symlink-target", target}}).status;
  };
  ASSERT_EQ(link("l1", "target"), 200);
  ASSERT_EQ(link("l2", "l1"), 200);
  ASSERT_EQ(link("l3", "nowhere"), 200);
  EXPECT_EQ(Read("l1"), "data");
  EXPECT_EQ(service_.Get("/bucket/l1?symlink", Oss()).Header("x-oss-symlink-target"), "target");
  EXPECT_EQ(CodeOf(service_.Get("/bucket/l2", Oss())), "400 InvalidTargetType");
  EXPECT_EQ(CodeOf(service_.Get("/bucket/l3", Oss())), "404 SymlinkTargetNotExist");
  EXPECT_EQ(ParseXml(service_.Get("/bucket/target?symlink", Oss()).body)->ChildText("EC"), "0043-00000101");
  const std::optional<XmlNode> list = ParseXml(service_.Get("/bucket/?prefix=l3", Oss()).body);
  EXPECT_EQ(list->Child("Contents")->ChildText("Type"), "Symlink");
  EXPECT_EQ(list->Child("Contents")->ChildText("Size"), "7");
}

TEST_F(ServiceTest, ArchivedObjectsAreListedButNotRead) {
  ASSERT_EQ(Put("cold", "x", {{"x-oss-storage-class", "Archive"}}).status, 200);
  EXPECT_EQ(CodeOf(service_.Get("/bucket/cold", Oss())), "403 InvalidObjectState");
  EXPECT_EQ(ParseXml(service_.Get("/bucket/", Oss()).body)->Child("Contents")->ChildText("StorageClass"),
            "Archive");
  EXPECT_EQ(service_.Do("HEAD", "/bucket/cold", Oss()).status, 200);
}

TEST_F(ServiceTest, BucketsComeAndGo) {
  EXPECT_EQ(service_.Do("PUT", "/fresh-one").status, 200);
  EXPECT_EQ(CodeOf(service_.Do("PUT", "/fresh-one")), "409 BucketAlreadyOwnedByYou");
  EXPECT_EQ(CodeOf(service_.Do("PUT", "/NotAName")), "400 InvalidBucketName");
  EXPECT_THAT(service_.Get("/").body, HasSubstr("<Name>fresh-one</Name>"));
  EXPECT_EQ(service_.Do("HEAD", "/fresh-one").status, 200);
  ASSERT_EQ(service_.Do("PUT", "/fresh-one/k", {}, "x").status, 200);
  EXPECT_EQ(CodeOf(service_.Do("DELETE", "/fresh-one")), "409 BucketNotEmpty");
  ASSERT_EQ(service_.Do("DELETE", "/fresh-one/k").status, 204);
  EXPECT_EQ(service_.Do("DELETE", "/fresh-one").status, 204);
  EXPECT_EQ(service_.Do("HEAD", "/fresh-one").status, 404);
}

TEST_F(ServiceTest, ParametersOfSdksMeanNothing) {
  EXPECT_EQ(service_.Do("PUT", "/fresh-one?x-id=CreateBucket").status, 200);
  EXPECT_EQ(service_.Do("PUT", "/fresh-one/k?x-id=PutObject", {}, "x").status, 200);
  EXPECT_EQ(service_.Get("/fresh-one/k?x-id=GetObject").body, "x");
  EXPECT_EQ(service_.Do("DELETE", "/fresh-one/k?x-id=DeleteObject").status, 204);
  EXPECT_EQ(service_.Do("DELETE", "/fresh-one?x-id=DeleteBucket").status, 204);
}

TEST_F(ServiceTest, LocationIsTheConfiguredRegion) {
  EXPECT_THAT(service_.Get("/syn/?location", Oss()).body, HasSubstr(">oss-cn-hangzhou<"));
  EXPECT_EQ(service_.Do("HEAD", "/syn").Header("x-amz-bucket-region"), "us-east-1");
  service_.Config("region=eu-1");
  EXPECT_THAT(service_.Get("/syn/?location", Oss()).body, HasSubstr(">oss-eu-1<"));
  EXPECT_THAT(service_.Get("/syn/?location").body, HasSubstr(">eu-1<"));
}

TEST_F(ServiceTest, TagsAreKept) {
  ASSERT_EQ(Put("k", "x").status, 200);
  const std::string tags =
      "<Tagging><TagSet><Tag><Key>a</Key><Value>b&amp;c</Value></Tag></TagSet></Tagging>";
  EXPECT_EQ(service_.Do("PUT", "/bucket/k?tagging", {}, tags).status, 200);
  EXPECT_THAT(service_.Get("/bucket/k?tagging").body, HasSubstr(tags));
  EXPECT_EQ(service_.Get("/bucket/k").Header("tagging"), "");
  EXPECT_EQ(service_.Do("DELETE", "/bucket/k?tagging").status, 204);
  EXPECT_THAT(service_.Get("/bucket/k?tagging").body, HasSubstr("<TagSet></TagSet>"));
}

}  // namespace
}  // namespace bucketvol::bucketd
