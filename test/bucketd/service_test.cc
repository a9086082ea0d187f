// The service over real sockets: operations, headers, faults, HTTP.
#include <algorithm>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mounter/base/crc.h"
#include "test/bucketd/content.h"
#include "test/bucketd/digest.h"
#include "test/bucketd/running_service.h"
#include "test/bucketd/synthetic_bucket.h"
#include "test/bucketd/text.h"
#include "test/bucketd/xml.h"
#include "test/support/temp_dir.h"

namespace bucketvol::bucketd {
namespace {

using ::testing::HasSubstr;

constexpr char kSpec[] = "syn:keys=3000,per-dir=100,size=1000B";
const HeaderList& Oss() {
  static const HeaderList headers = {{"x-oss-meta-oss", "1"}};
  return headers;
}

HeaderList With(HeaderList headers, const HeaderList& more) {
  headers.insert(headers.end(), more.begin(), more.end());
  return headers;
}

std::string CodeOf(const HttpAnswer& answer) {
  const std::optional<XmlNode> root = ParseXml(answer.body);
  return absl::StrCat(answer.status, " ", root.has_value() ? root->ChildText("Code") : "");
}

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() : service_({temp_.path(), {kSpec}, "", 1}) {
    EXPECT_TRUE(service_.service().buckets().Create("bucket").ok());
  }

  static std::string Key(uint64_t index = 5) { return KeyFormula(*ParseSyntheticSpec(kSpec)).At(index); }
  static std::string Expected(const std::string& key) {
    const SyntheticObject object = DescribeSynthetic(*ParseSyntheticSpec(kSpec), key);
    std::string bytes(object.size, '\0');
    FillContent(object.seed, 0, bytes.data(), bytes.size());
    return bytes;
  }
  HttpAnswer Get(const HeaderList& headers = {}) { return service_.Get("/syn/" + Key(), headers); }
  HttpAnswer Put(const std::string& key, const std::string& body, const HeaderList& headers = {}) {
    return service_.Do("PUT", "/bucket/" + PercentEncode(key, "/"), headers, body);
  }
  std::string Read(const std::string& key) { return service_.Get("/bucket/" + PercentEncode(key, "/")).body; }

  bucketvol::testing::TempDir temp_;
  RunningService service_;
};

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

class MultipartTest : public ServiceTest {
 protected:
  std::string Begin(const std::string& key) {
    return ParseXml(service_.Do("POST", "/bucket/" + key + "?uploads", Oss()).body)->ChildText("UploadId");
  }
  std::string Part(const std::string& key, const std::string& id, int number, const std::string& data) {
    return service_
        .Do("PUT", absl::StrCat("/bucket/", key, "?partNumber=", number, "&uploadId=", id), Oss(), data)
        .Header("etag");
  }
  HttpAnswer Complete(const std::string& key, const std::string& id,
                      const std::vector<std::pair<int, std::string>>& parts,
                      const HeaderList& headers = Oss()) {
    std::string xml = "<CompleteMultipartUpload>";
    for (const auto& [number, etag] : parts) {
      absl::StrAppend(&xml, "<Part><PartNumber>", number, "</PartNumber><ETag>", etag, "</ETag></Part>");
    }
    return service_.Do("POST", "/bucket/" + key + "?uploadId=" + id, headers,
                       xml + "</CompleteMultipartUpload>");
  }
  const std::string big_ = std::string(150'000, 'b');
};

TEST_F(MultipartTest, JoinsPartsInOrder) {
  const std::string id = Begin("m");
  const std::string second = Part("m", id, 7, "tail");
  const std::string first = Part("m", id, 2, big_);
  const HttpAnswer done = Complete("m", id, {{2, first}, {7, second}});
  ASSERT_EQ(done.status, 200) << done.body;
  const HttpAnswer read = service_.Get("/bucket/m", Oss());
  EXPECT_EQ(read.body, big_ + "tail");
  EXPECT_EQ(read.Header("x-oss-hash-crc64ecma"), absl::StrCat(Crc64(0, big_ + "tail")));
  EXPECT_EQ(read.Header("x-oss-object-type"), "Multipart");
  EXPECT_TRUE(absl::EndsWith(read.Header("etag"), "-2\"")) << read.Header("etag");
  EXPECT_EQ(CodeOf(Complete("m", id, {{2, first}})), "404 NoSuchUpload");
}

TEST_F(MultipartTest, RefusesWhatDoesNotFit) {
  const std::string id = Begin("m");
  const std::string first = Part("m", id, 1, "small");
  const std::string second = Part("m", id, 2, "tail");
  EXPECT_EQ(CodeOf(Complete("m", id, {{1, first}, {2, second}})), "400 EntityTooSmall");
  EXPECT_EQ(CodeOf(Complete("m", id, {{2, second}, {1, first}})), "400 InvalidPartOrder");
  EXPECT_EQ(CodeOf(Complete("m", id, {{1, second}})), "400 InvalidPart");
  EXPECT_EQ(CodeOf(Complete("m", id, {{3, first}})), "400 InvalidPart");
  EXPECT_EQ(CodeOf(Complete("m", id, {})), "400 MalformedXML");
  EXPECT_EQ(CodeOf(Complete("other", id, {{1, first}})), "404 NoSuchUpload");
  EXPECT_EQ(Complete("m", id, {{1, first}}).status, 200);
}

TEST_F(MultipartTest, ListsAbortsAndCompletesAll) {
  const std::string id = Begin("m");
  Part("m", id, 1, big_);
  Part("m", id, 2, "x");
  EXPECT_THAT(service_.Get("/bucket/?uploads", Oss()).body, HasSubstr(id));
  EXPECT_THAT(service_.Get("/bucket/m?max-parts=1&uploadId=" + id, Oss()).body,
              HasSubstr("<NextPartNumberMarker>1</NextPartNumberMarker>"));
  EXPECT_EQ(Complete("m", id, {}, {{"x-oss-complete-all", "yes"}}).status, 200);
  EXPECT_EQ(Read("m").size(), big_.size() + 1);
  const std::string other = Begin("n");
  Part("n", other, 1, "x");
  EXPECT_EQ(service_.Do("DELETE", "/bucket/n?uploadId=" + other, Oss()).status, 204);
  EXPECT_EQ(service_.Do("DELETE", "/bucket/n?uploadId=" + other, Oss()).status, 404);
}

TEST_F(MultipartTest, CopiesParts) {
  ASSERT_EQ(Put("src", big_ + "0123456789").status, 200);
  const std::string id = Begin("m");
  const HttpAnswer part =
      service_.Do("PUT", "/bucket/m?partNumber=1&uploadId=" + id,
                  {{"x-oss-copy-source", "/bucket/src"}, {"x-oss-copy-source-range", "bytes=150002-150005"}});
  ASSERT_EQ(part.status, 200);
  ASSERT_EQ(Complete("m", id, {{1, part.Header("etag")}}).status, 200);
  EXPECT_EQ(Read("m"), "2345");
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

// Faults.

TEST_F(ServiceTest, ErrorFaultsSpeakTheDialect) {
  service_.Config(
      "fault=op=GET,kind=503,count=1\nfault=op=GET,kind=500,count=1\nfault=op=GET,kind=expired-token,count="
      "1");
  EXPECT_EQ(CodeOf(Get()), "503 SlowDown");
  EXPECT_EQ(CodeOf(Get(Oss())), "500 InternalError");
  EXPECT_EQ(CodeOf(Get()), "400 ExpiredToken");
  EXPECT_EQ(Get().status, 200);
}

TEST_F(ServiceTest, TruncateAndResetCutTheBody) {
  service_.Config("fault=kind=truncate,count=1\nfault=kind=reset,count=1");
  const HttpAnswer cut = Get();
  EXPECT_EQ(cut.Header("content-length"), "1000");
  EXPECT_FALSE(cut.complete);
  EXPECT_FALSE(cut.reset);
  EXPECT_EQ(cut.body, Expected(Key()).substr(0, 500));
  const HttpAnswer reset = Get();
  EXPECT_FALSE(reset.complete);
  EXPECT_TRUE(reset.reset);
}

TEST_F(ServiceTest, WrongBytesKeepTheLength) {
  service_.Config("fault=kind=wrong-bytes,count=2");
  const HttpAnswer answer = Get();
  EXPECT_EQ(answer.body.size(), 1000u);
  EXPECT_NE(answer.body, Expected(Key()));
  EXPECT_NE(Get({{"Range", "bytes=700-700"}}).body, Expected(Key()).substr(700, 1));
  EXPECT_EQ(Get().body, Expected(Key()));
}

TEST_F(ServiceTest, WrongEtagPassesIfMatch) {
  const std::string etag = Get().Header("etag");
  service_.Config("fault=kind=wrong-etag,count=1");
  const HttpAnswer answer = Get({{"If-Match", etag}});
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.Header("etag"), etag);
}

TEST_F(ServiceTest, WrongLengthLiesInTurn) {
  service_.Config("fault=kind=wrong-length,count=2");
  const HttpAnswer half = Get({{"Range", "bytes=0-99"}});
  EXPECT_EQ(half.Header("content-range"), "bytes 0-99/1000");
  EXPECT_EQ(half.Header("content-length"), "50");
  EXPECT_TRUE(half.complete);
  const HttpAnswer total = Get({{"Range", "bytes=0-99"}});
  EXPECT_EQ(total.Header("content-range"), "bytes 0-99/11000");
  EXPECT_EQ(total.body.size(), 100u);
}

TEST_F(ServiceTest, HtmlInsteadOfXml) {
  service_.Config("fault=op=LIST,kind=html");
  const HttpAnswer answer = service_.Get("/syn/?list-type=2");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("<html>"));
}

// One thread only: a delayed answer must not hold up another.
TEST_F(ServiceTest, DelaysBlockNobody) {
  service_.Config("fault=op=GET,kind=stall:60s,count=1\nfirst-byte=1ms");
  HttpClient stalled(service_.port());
  stalled.Send("GET /syn/" + Key() + " HTTP/1.1\r\nHost: a\r\n\r\n");
  while (!stalled.HasInput()) {
  }
  EXPECT_EQ(Get().status, 200);
  EXPECT_THAT(service_.Get("/-/stats").body, HasSubstr("\"in_flight\":1"));
}

TEST_F(ServiceTest, CapsSlowDownButLoseNothing) {
  service_.Config("per-connection=200KB/s\ntotal=100KB/s\nprofile=zero");
  service_.Config("per-connection=200KB/s");
  EXPECT_EQ(Get().body, Expected(Key()));
}

TEST_F(ServiceTest, GoneClientsAreForgotten) {
  service_.Config("first-byte=60s");
  {
    HttpClient client(service_.port());
    client.Send("GET /syn/" + Key() + " HTTP/1.1\r\nHost: a\r\n\r\n");
    while (!absl::StrContains(service_.Get("/-/stats").body, "\"in_flight\":1")) {
    }
  }
  while (!absl::StrContains(service_.Get("/-/stats").body, "\"in_flight\":0")) {
  }
}

// HTTP.

TEST_F(ServiceTest, PipelinedRequestsAreAnsweredInOrder) {
  HttpClient client(service_.port());
  client.Send("GET /syn/" + Key(1) + " HTTP/1.1\r\nHost: a\r\n\r\nGET /syn/" + Key(2) +
              " HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.Receive().body, Expected(Key(1)));
  EXPECT_EQ(client.Receive().body, Expected(Key(2)));
}

TEST_F(ServiceTest, ChunkedUploadsAreRead) {
  HttpClient client(service_.port());
  client.Send(
      "PUT /bucket/k HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 200);
  EXPECT_EQ(client.Get("/bucket/k").body, "abcde");
}

TEST_F(ServiceTest, ContinueComesOnlyWhenTheBodyIsWanted) {
  HttpClient client(service_.port());
  client.Send("PUT /bucket/k HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.Receive().status, 100);
  client.Send("abc");
  EXPECT_EQ(client.Receive().status, 200);
  HttpClient refused(service_.port());
  refused.Send("PUT /nobucket/k HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(refused.Receive().status, 404);
}

TEST_F(ServiceTest, GarbageIsAnsweredAndTheConnectionClosed) {
  for (const char* bytes :
       {"HELLO\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "GET x HTTP/1.1\r\n\r\n", "PUT /bucket/k HTTP/1.1\r\nContent-Length: x\r\n\r\n"}) {
    HttpClient client(service_.port());
    client.Send(bytes);
    const HttpAnswer answer = client.Receive();
    EXPECT_EQ(answer.status, 400) << bytes;
    EXPECT_EQ(answer.Header("connection"), "close");
  }
  HttpClient client(service_.port());
  client.Send("GET /" + std::string(100'000, 'x'));
  EXPECT_EQ(client.Receive().status, 431);
}

// Admin.

TEST_F(ServiceTest, CountsWhatItServes) {
  Get();
  service_.Do("HEAD", "/syn/" + Key());
  service_.Get("/syn/?list-type=2&max-keys=1");
  service_.Do("PUT", "/bucket/k", {}, "12345");
  const std::string stats = service_.Get("/-/stats").body;
  EXPECT_THAT(stats, HasSubstr("\"GET\":1,\"HEAD\":1,\"LIST\":1,\"PUT\":1"));
  EXPECT_THAT(stats, HasSubstr("\"bytes_in\":5"));
  EXPECT_THAT(stats, HasSubstr("\"in_flight_peak\":1"));
  ASSERT_EQ(service_.Do("POST", "/-/reset").status, 200);
  EXPECT_THAT(service_.Get("/-/stats").body, HasSubstr("\"GET\":0,\"HEAD\":0,\"LIST\":0,\"PUT\":0"));
}

TEST_F(ServiceTest, LogsRequestsInOrderOfArrival) {
  Get({{"Range", "bytes=0-4"}});
  service_.Get("/syn/none%22%01");
  const std::string log = service_.Get("/-/log?n=2").body;
  EXPECT_THAT(log, HasSubstr("\"key\":\"" + Key() +
                             "\",\"range\":\"bytes=0-4\",\"query\":\"\",\"status\":206,\"bytes\":5}"));
  EXPECT_LT(log.find("\"status\":206"), log.find("\"key\":\"none\\\"\\u0001\""));
  EXPECT_EQ(service_.Get("/-/log?n=1").body.find("206"), std::string::npos);
}

TEST_F(ServiceTest, BadConfigurationChangesNothing) {
  const HttpAnswer answer = service_.Do("POST", "/-/config", {}, "fault=op=GET,kind=503\nfirst-byte=soon\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.body, HasSubstr("--first-byte: not a time"));
  EXPECT_EQ(Get().status, 200);
  EXPECT_EQ(service_.Do("POST", "/-/config", {}, "fault=op=GET,kind=503\n").status, 200);
  EXPECT_EQ(Get().status, 503);
  EXPECT_EQ(service_.Do("POST", "/-/config", {}, "fault=none").status, 200);
  EXPECT_EQ(Get().status, 200);
}

}  // namespace
}  // namespace bucketvol::bucketd
