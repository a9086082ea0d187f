#include "mounter/objstore/endpoint.h"

#include "gtest/gtest.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;

Endpoint Parsed(absl::string_view url) { return ParseEndpoint(url).value_or(Endpoint{"failed", "", -1}); }

TEST(EndpointTest, ParsesUrls) {
  EXPECT_EQ(Parsed("https://OSS-cn-hangzhou.aliyuncs.com"),
            (Endpoint{"https", "oss-cn-hangzhou.aliyuncs.com", 0}));
  EXPECT_EQ(Parsed("http://127.0.0.1:9000/"), (Endpoint{"http", "127.0.0.1", 9000}));
  EXPECT_EQ(Parsed("http://[::1]:9000"), (Endpoint{"http", "::1", 9000}));
  EXPECT_EQ(Parsed("http://[::1]"), (Endpoint{"http", "::1", 0}));
}

TEST(EndpointTest, RefusesOtherUrls) {
  for (const char* bad :
       {"", "oss-cn-hangzhou.aliyuncs.com", "ftp://host", "http://", "http://host:", "http://host:0",
        "http://host:65536", "http://host:x", "http://host/path", "http://ho st", "http://[::1",
        "http://[host]", "http://[::1]x", "http://host?a", "http://host#a"}) {
    EXPECT_THAT(ParseEndpoint(bad), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("url= must be")))
        << bad;
  }
  EXPECT_THAT(ParseEndpoint("http://user:password@host"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("no user name"), Not(HasSubstr("password@")))));
}

TEST(EndpointTest, AuthoritiesLeaveOutTheSchemesPort) {
  EXPECT_EQ((Endpoint{"https", "h", 443}).Authority(), "h");
  EXPECT_EQ((Endpoint{"http", "h", 443}).Authority(), "h:443");
  EXPECT_EQ((Endpoint{"http", "::1", 80}).Authority(), "[::1]");
  EXPECT_EQ((Endpoint{"http", "::1", 9000}).Authority(), "[::1]:9000");
}

TEST(EndpointTest, TheBucketIsTakenOffTheHost) {
  const auto host = [](const char* from) { return WithoutBucket({"https", from, 0}, "bucket").host; };
  EXPECT_EQ(host("bucket.oss-cn-hangzhou.aliyuncs.com"), "oss-cn-hangzhou.aliyuncs.com");
  EXPECT_EQ(host("bucket.s3.eu-west-1.amazonaws.com"), "s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(host("oss-cn-hangzhou.aliyuncs.com"), "oss-cn-hangzhou.aliyuncs.com");
  EXPECT_EQ(host("bucket.example.com"), "bucket.example.com");
  EXPECT_EQ(WithoutBucket({"https", "oss-cn-hangzhou.aliyuncs.com", 0}, "oss-cn-hangzhou").host,
            "oss-cn-hangzhou.aliyuncs.com");
}

std::string Url(const Endpoint& endpoint, absl::string_view bucket, absl::string_view key,
                Addressing addressing = Addressing::kAuto) {
  const RequestAddress address = AddressOf(endpoint, bucket, key, addressing);
  return address.host + address.path;
}

TEST(EndpointTest, AddressesBucketsByHostOrPath) {
  const Endpoint oss = {"https", "oss-cn-hangzhou.aliyuncs.com", 0};
  EXPECT_EQ(Url(oss, "b", "k k"), "b.oss-cn-hangzhou.aliyuncs.com/k%20k");
  EXPECT_EQ(Url(oss, "b", ""), "b.oss-cn-hangzhou.aliyuncs.com/");
  EXPECT_EQ(Url(oss, "b", "k", Addressing::kPath), "oss-cn-hangzhou.aliyuncs.com/b/k");
  EXPECT_EQ(Url(oss, "b.c", "k"), "oss-cn-hangzhou.aliyuncs.com/b.c/k") << "no certificate covers b.c.HOST";
  EXPECT_EQ(Url({"http", "oss-cn-hangzhou.aliyuncs.com", 0}, "b.c", "k"),
            "b.c.oss-cn-hangzhou.aliyuncs.com/k");
  EXPECT_EQ(Url({"http", "127.0.0.1", 9000}, "b", ""), "127.0.0.1:9000/b/");
  EXPECT_EQ(Url({"http", "localhost", 0}, "b", "k"), "localhost/b/k");
  EXPECT_EQ(Url({"http", "::1", 9000}, "b", "k"), "[::1]:9000/b/k");
  EXPECT_EQ(Url({"http", "localhost", 9000}, "b", "k", Addressing::kVirtualHost), "b.localhost:9000/k");
}

TEST(EndpointTest, HostsTellTheirRegion) {
  EXPECT_EQ(RegionOfHost("oss-cn-hangzhou.aliyuncs.com"), "cn-hangzhou");
  EXPECT_EQ(RegionOfHost("oss-cn-hangzhou-internal.aliyuncs.com"), "cn-hangzhou");
  EXPECT_EQ(RegionOfHost("cn-hangzhou.oss.aliyuncs.com"), "cn-hangzhou");
  EXPECT_EQ(RegionOfHost("s3.eu-west-1.amazonaws.com"), "eu-west-1");
  EXPECT_EQ(RegionOfHost("s3-eu-west-1.amazonaws.com"), "eu-west-1");
  EXPECT_EQ(RegionOfHost("s3.dualstack.eu-west-1.amazonaws.com"), "eu-west-1");
  EXPECT_EQ(RegionOfHost("s3.cn-north-1.amazonaws.com.cn"), "cn-north-1");
  for (const char* silent :
       {"s3.amazonaws.com", "oss-accelerate.aliyuncs.com", "oss-accelerate-overseas.aliyuncs.com",
        "s3-accelerate.amazonaws.com", "127.0.0.1", "minio.example.com"}) {
    EXPECT_EQ(RegionOfHost(silent), std::nullopt) << silent;
  }
}

TEST(EndpointTest, HostsOfOtherRegions) {
  EXPECT_EQ(HostInRegion("s3.us-east-1.amazonaws.com", "eu-west-1"), "s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(HostInRegion("s3.amazonaws.com", "eu-west-1"), "s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(HostInRegion("storage.example.com", "eu-west-1"), std::nullopt);
}

}  // namespace
}  // namespace bucketvol
