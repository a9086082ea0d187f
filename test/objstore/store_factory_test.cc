#include "mounter/objstore/store_factory.h"

#include "gtest/gtest.h"
#include "test/objstore/store_fixture.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

absl::Status Made(const StoreSettings& settings) {
  static StaticCredentials credentials(testing::TestKeys());
  return MakeObjectStore(settings, credentials, Clock::Real()).status();
}

TEST(StoreFactoryTest, NamesTheWrongSetting) {
  const StoreSettings good = testing::SettingsFor("http://127.0.0.1:1");
  EXPECT_OK(Made(good));
  StoreSettings settings = good;
  settings.bucket = "";
  EXPECT_THAT(Made(settings), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("names no bucket")));
  settings.bucket = "a/b";
  EXPECT_THAT(Made(settings), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("bucket's name")));
  settings = good;
  settings.url = "127.0.0.1";
  EXPECT_THAT(Made(settings), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("url=")));
  settings = good;
  settings.region = "";
  EXPECT_THAT(Made(settings), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("region= is missing")));
}

TEST(StoreFactoryTest, RegionsAreDerivedWhereTheyCanBe) {
  StoreSettings settings = testing::SettingsFor("https://oss-cn-beijing.aliyuncs.com");
  settings.region = "";
  EXPECT_OK(Made(settings));
  settings.url = "http://127.0.0.1:1";
  settings.signature = Signature::kOssV1;
  EXPECT_OK(Made(settings));
  settings.dialect = Dialect::kS3;
  settings.signature = Signature::kAwsV4;
  EXPECT_OK(Made(settings));
}

TEST(StoreFactoryTest, TellsTheRouteWithoutSecrets) {
  StoreSettings settings = testing::SettingsFor("https://oss-cn-beijing.aliyuncs.com");
  EXPECT_EQ(testing::BlockingStore(settings)->Route(), "https://oss-cn-beijing.aliyuncs.com directly");
  settings.transport.proxy.proxy = "http://u:p@proxy:3128";
  EXPECT_EQ(testing::BlockingStore(settings)->Route(),
            "https://oss-cn-beijing.aliyuncs.com by proxy http://proxy:3128");
}

TEST(StoreFactoryTest, AfterShutdownEveryCallIsCancelled) {
  testing::BlockingStore store(testing::SettingsFor("http://127.0.0.1:1"));
  store->Shutdown();
  EXPECT_THAT(store.List(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(store.Get("k", {0, 1}), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

}  // namespace
}  // namespace bucketvol
