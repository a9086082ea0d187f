// Multipart uploads.
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "mounter/base/crc.h"
#include "test/bucketd/service_fixture.h"

namespace bucketvol::bucketd {
namespace {

using ::testing::HasSubstr;

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

TEST_F(MultipartTest, EncodesKeysOnRequest) {
  const HttpAnswer begun = service_.Do("POST", "/bucket/a%20%01?uploads&encoding-type=url", Oss());
  EXPECT_THAT(begun.body, HasSubstr("<EncodingType>url</EncodingType>"));
  EXPECT_THAT(begun.body, HasSubstr("<Key>a%20%01</Key>"));
  const HttpAnswer list = service_.Get("/bucket/?uploads&encoding-type=url", Oss());
  EXPECT_THAT(list.body, HasSubstr("<EncodingType>url</EncodingType>"));
  EXPECT_THAT(list.body, HasSubstr("<Key>a%20%01</Key>"));
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

}  // namespace
}  // namespace bucketvol::bucketd
