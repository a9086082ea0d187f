#include "mounter/options/service_url.h"

#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

Source Oss(const char* bucket = "my-bucket") { return {Provider::kOss, bucket, ""}; }
Source S3(const char* bucket = "my-bucket") { return {Provider::kS3, bucket, ""}; }

TEST(ParseServiceUrlTest, CompletesTheUrl) {
  const std::pair<const char*, const char*> cases[] = {
      {"oss-cn-hangzhou.aliyuncs.com", "https://oss-cn-hangzhou.aliyuncs.com:443"},
      {"oss-cn-hangzhou-internal.aliyuncs.com", "http://oss-cn-hangzhou-internal.aliyuncs.com:80"},
      {"oss-cn-hangzhou-INTERNAL.aliyuncs.com//", "http://oss-cn-hangzhou-internal.aliyuncs.com:80"},
      {"https://oss-cn-hangzhou-internal.aliyuncs.com/", "https://oss-cn-hangzhou-internal.aliyuncs.com:443"},
      {"HTTP://S3.Example.COM", "http://s3.example.com:80"},
      {"http://127.0.0.1:9000", "http://127.0.0.1:9000"},
      {"https://[::1]:9000/", "https://[::1]:9000"},
      {"[2001:DB8::1]", "https://[2001:db8::1]:443"},
      {"minio:9000", "https://minio:9000"},
      {"http://my_service", "http://my_service:80"},
  };
  for (const auto& [url, whole] : cases) {
    ASSERT_OK_AND_ASSIGN(const ServiceUrl endpoint, ParseServiceUrl(url, S3()));
    EXPECT_EQ(endpoint.ToUrl(), whole);
  }
}

TEST(ParseServiceUrlTest, KnowsAddresses) {
  for (const char* url : {"http://127.0.0.1", "[::1]:80", "10.0.0.1:443"}) {
    ASSERT_OK_AND_ASSIGN(const ServiceUrl endpoint, ParseServiceUrl(url, S3()));
    EXPECT_TRUE(endpoint.ip_address) << url;
  }
  ASSERT_OK_AND_ASSIGN(const ServiceUrl endpoint, ParseServiceUrl("http://1.2.3.4.example.com", S3()));
  EXPECT_FALSE(endpoint.ip_address);
}

TEST(ParseServiceUrlTest, RefusesWithTheReason) {
  const std::pair<const char*, const char*> cases[] = {
      {"ftp://x", "url has a scheme other than http and https: \"ftp\""},
      {"http://", "url has no valid host name: \"http://\""},
      {"a..b", "url has no valid host name: \"a..b\""},
      {"a b", "url has no valid host name: \"a b\""},
      {"-a.b", "url has no valid host name: \"-a.b\""},
      {"300.1.1.1", "url has no valid host name: \"300.1.1.1\""},
      {"::1", "url has an IPv6 address without brackets: \"[::1]\""},
      {"[::g]", "url has no IPv6 address between the brackets: \"[::g]\""},
      {"[::1", "url has no IPv6 address between the brackets: \"[::1\""},
      {"[", "url has no IPv6 address between the brackets: \"[\""},
      {"[fe80::1%eth0]", "url has no IPv6 address between the brackets: \"[fe80::1%eth0]\""},
      {"[::1]9000", "url has a port that is no number from 1 to 65535: \"[::1]9000\""},
      {"a:", "url has a port that is no number from 1 to 65535: \"a:\""},
      {"a:0", "url has a port that is no number from 1 to 65535: \"a:0\""},
      {"a:65536", "url has a port that is no number from 1 to 65535: \"a:65536\""},
      {"a:80x", "url has a port that is no number from 1 to 65535: \"a:80x\""},
      {"http://a/?x=1", "url holds a query or fragment: \"http://a/?x=1\""},
      {"http://a/b", "url holds a path; the directory belongs into the source or path=: \"a/b\""},
  };
  for (const auto& [url, message] : cases)
    EXPECT_THAT(ParseServiceUrl(url, S3()), StatusIs(kInvalid, message)) << url;
}

TEST(ParseServiceUrlTest, RefusesTheBucketInTheHostAndTellsTheEndpoint) {
  EXPECT_THAT(ParseServiceUrl("https://my-bucket.oss-cn-hangzhou.aliyuncs.com", Oss()),
              StatusIs(kInvalid,
                       "url already holds the bucket: \"my-bucket.oss-cn-hangzhou.aliyuncs.com\"; write the "
                       "endpoint alone: url=oss-cn-hangzhou.aliyuncs.com"));
  EXPECT_THAT(ParseServiceUrl("another.oss-cn-hangzhou.aliyuncs.com", Oss()),
              StatusIs(kInvalid, HasSubstr("url=oss-cn-hangzhou.aliyuncs.com")));
  EXPECT_THAT(ParseServiceUrl("my-bucket.s3.us-west-2.amazonaws.com", S3()),
              StatusIs(kInvalid, HasSubstr("url=s3.us-west-2.amazonaws.com")));
  EXPECT_THAT(ParseServiceUrl("my-bucket.oss.private.example", Oss()),
              StatusIs(kInvalid, HasSubstr("url=oss.private.example")));
}

TEST(ParseServiceUrlTest, RefusesTheBucketInThePath) {
  EXPECT_THAT(ParseServiceUrl("https://s3.us-west-2.amazonaws.com/my-bucket/x", S3()),
              StatusIs(kInvalid,
                       "url already holds the bucket: \"s3.us-west-2.amazonaws.com/my-bucket\"; write the "
                       "endpoint alone: url=s3.us-west-2.amazonaws.com"));
}

TEST(ParseServiceUrlTest, AcceptsAHostThatOnlyLooksLikeABucket) {
  EXPECT_OK(ParseServiceUrl("http://minio.storage.svc.cluster.local", S3("minio")));
  EXPECT_OK(ParseServiceUrl("s3.us-west-2.amazonaws.com", S3("s3")));
  EXPECT_OK(ParseServiceUrl("cn-hangzhou.oss.aliyuncs.com", Oss("cn-hangzhou")));
  EXPECT_OK(ParseServiceUrl("oss-accelerate.aliyuncs.com", Oss()));
  EXPECT_OK(ParseServiceUrl("bucket.vpce-1a2b-x.s3.us-east-1.vpce.amazonaws.com", S3("bucket")));
}

TEST(ParseServiceUrlTest, NeverRepeatsAPassword) {
  EXPECT_THAT(
      ParseServiceUrl("https://id:hunter2@host", S3()),
      StatusIs(kInvalid, AllOf(StartsWith("url holds a user name or password"), Not(HasSubstr("hunter2")))));
}

TEST(RegionToldByTest, ReadsPublicNames) {
  const std::pair<const char*, const char*> cases[] = {
      {"oss-cn-hangzhou.aliyuncs.com", "cn-hangzhou"},
      {"oss-cn-hangzhou-internal.aliyuncs.com", "cn-hangzhou"},
      {"vpc100-oss-cn-beijing.aliyuncs.com", "cn-beijing"},
      {"s3.oss-cn-beijing-internal.aliyuncs.com", "cn-beijing"},
      {"cn-hangzhou.oss.aliyuncs.com", "cn-hangzhou"},
      {"cn-hangzhou-internal.oss-data-acc.aliyuncs.com", "cn-hangzhou"},
      {"oss-accelerate.aliyuncs.com", ""},
      {"oss-accelerate-overseas.aliyuncs.com", ""},
      {"b.oss-cn-hangzhou.aliyuncs.com", ""},
      {"oss-cn-hangzhou.aliyuncs.com.evil.example", ""},
      {"s3.eu-central-1.amazonaws.com", "eu-central-1"},
      {"s3-us-west-2.amazonaws.com", "us-west-2"},
      {"s3.dualstack.eu-west-1.amazonaws.com", "eu-west-1"},
      {"s3-fips.us-gov-west-1.amazonaws.com", "us-gov-west-1"},
      {"s3.cn-north-1.amazonaws.com.cn", "cn-north-1"},
      {"s3.amazonaws.com", "us-east-1"},
      {"s3-accelerate.amazonaws.com", ""},
      {"bucket.vpce-1a2b.s3.us-east-2.vpce.amazonaws.com", "us-east-2"},
      {"s3.example.com", ""},
      {"localhost", ""},
      {"", ""},
  };
  for (const auto& [host, region] : cases) EXPECT_EQ(RegionToldBy(host), region) << host;
}

TEST(DecideAddressingTest, FollowsHostProviderAndBucket) {
  constexpr auto kPath = AddressingStyle::kPath;
  constexpr auto kVirtual = AddressingStyle::kVirtualHost;
  struct Case {
    const char* url;
    Source source;
    AddressingStyle style;
  };
  const Case cases[] = {
      {"oss-cn-hangzhou.aliyuncs.com", Oss(), kVirtual},
      {"oss.private.example", Oss(), kVirtual},
      {"http://127.0.0.1:9000", Oss(), kPath},
      {"[::1]", S3(), kPath},
      {"localhost:9000", Oss(), kPath},
      {"minio", S3(), kPath},
      {"s3.eu-central-1.amazonaws.com", S3(), kVirtual},
      {"s3.cn-north-1.amazonaws.com.cn", S3(), kVirtual},
      {"oss-cn-hangzhou.aliyuncs.com", S3(), kVirtual},
      {"s3.eu-central-1.amazonaws.com", S3("a.b"), kPath},
      {"s3.amazonaws.com", S3("Upper"), kPath},
      {"s3.amazonaws.com", S3("under_score"), kPath},
      {"storage.example.com", S3(), kPath},
  };
  for (const Case& c : cases) {
    ASSERT_OK_AND_ASSIGN(const ServiceUrl endpoint, ParseServiceUrl(c.url, c.source));
    EXPECT_EQ(DecideAddressing(endpoint, c.source), c.style) << c.url << " " << c.source.ToString();
  }
}

}  // namespace
}  // namespace bucketvol
