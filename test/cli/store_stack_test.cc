#include "mounter/cli/store_stack.h"

#include "test/support/fake_clock.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

VolumeSpec Spec() {
  VolumeSpec spec;
  spec.options.source = {Provider::kS3, "b", ""};
  spec.options.url = "http://127.0.0.1:9000";
  spec.options.region = "us-east-1";
  spec.options.signature = SignatureVersion::kSigV4;
  spec.options.addressing = AddressingStyle::kPath;
  return spec;
}

TEST(StoreStackTest, HandsTheOptionsOn) {
  VolumeSpec spec = Spec();
  spec.options.request_rate = 7;
  spec.options.list_objects_v1 = true;
  spec.options.connect_timeout = absl::Seconds(3);
  spec.options.ca_file = "/ca.pem";
  spec.options.check_certificate = false;
  ASSERT_OK_AND_ASSIGN(const StoreSettings settings, StoreSettingsOf(spec));
  EXPECT_EQ(settings.url, "http://127.0.0.1:9000");
  EXPECT_EQ(settings.bucket, "b");
  EXPECT_EQ(settings.region, "us-east-1");
  EXPECT_EQ(settings.dialect, Dialect::kS3);
  EXPECT_EQ(settings.signature, Signature::kAwsV4);
  EXPECT_EQ(settings.addressing, Addressing::kPath);
  EXPECT_EQ(settings.list_version, ListVersion::kV1);
  EXPECT_EQ(settings.request_rate, 7);
  EXPECT_EQ(settings.transport.connect_timeout, absl::Seconds(3));
  EXPECT_EQ(settings.transport.ca_file, "/ca.pem");
  EXPECT_FALSE(settings.transport.check_certificate);
}

TEST(StoreStackTest, RetriesEndBeforeTheReadersTimeIsOver) {
  VolumeSpec spec = Spec();
  spec.options.request_timeout = absl::Seconds(10);
  ASSERT_OK_AND_ASSIGN(const StoreSettings settings, StoreSettingsOf(spec));
  EXPECT_LT(settings.retry.budget, absl::Seconds(10));
}

TEST(StoreStackTest, TheProxysPasswordComesFromTheSecretPart) {
  VolumeSpec spec = Spec();
  spec.options.proxy = "http://proxy:3128";
  spec.proxy_credentials = Secret("user:password");
  ASSERT_OK_AND_ASSIGN(const StoreSettings settings, StoreSettingsOf(spec));
  EXPECT_EQ(settings.transport.proxy.proxy, "http://user:password@proxy:3128");
}

TEST(StoreStackTest, AServiceThatHasProvenGoodIsNotGivenUpSoon) {
  ASSERT_OK_AND_ASSIGN(const StoreSettings fresh, StoreSettingsOf(Spec()));
  EXPECT_GT(fresh.retry.first_contact_attempts, 0);
  ASSERT_OK_AND_ASSIGN(const StoreSettings proven, StoreSettingsOf(Spec(), Acquaintance::kProven));
  EXPECT_EQ(proven.retry.first_contact_attempts, 0);  // No such limit.
}

TEST(StoreStackTest, TheStatusTellsOfSlowRequests) {
  StoreMetrics metrics;
  metrics.hedged = 3;
  metrics.stalled = 2;
  EXPECT_EQ(StoreStatus(metrics).hedged, 3u);
  EXPECT_EQ(StoreStatus(metrics).stalled, 2u);
}

TEST(StoreStackTest, MakesAStoreWithoutSendingAnything) {
  testing::FakeClock clock;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StoreStack> stack, StoreStack::Make(Spec(), clock));
  const StatusDocument::Store status = StoreStatus(stack->store().metrics());
  EXPECT_EQ(status.requests.size(), 6u);
  for (const auto& [name, count] : status.requests) EXPECT_EQ(count, 0u) << name;
}

TEST(StoreStackTest, AFormatOfANewerProgramIsRefusedByName) {
  testing::FakeClock clock;
  VolumeSpec spec = Spec();
  spec.credentials.file_format = "quantum";
  EXPECT_THAT(StoreStack::Make(spec, clock).status(),
              testing::StatusIs(absl::StatusCode::kFailedPrecondition, ::testing::HasSubstr("quantum")));
}

}  // namespace
}  // namespace bucketvol
