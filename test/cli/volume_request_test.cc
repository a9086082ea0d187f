#include "mounter/cli/volume_request.h"

#include "mounter/cli/exit_code.h"
#include "mounter/options/volume_spec.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::HasSubstr;

class VolumeRequestTest : public ::testing::Test {
 protected:
  VolumeRequestTest() { context_.working_directory = "/"; }
  absl::StatusOr<VolumeRequest> Parse(const std::string& list, const std::string& source = "s3://b/p") {
    return ParseVolumeRequest(context_, source, {"url=http://127.0.0.1:9000", list});
  }

  CommandContext context_;
};

TEST_F(VolumeRequestTest, TheSpecCarriesOptionsAndCredentials) {
  context_.environment = {{"AWS_ACCESS_KEY_ID", "id"}, {"AWS_SECRET_ACCESS_KEY", "secret"}};
  ASSERT_OK_AND_ASSIGN(const VolumeRequest request, Parse("umask=077"));
  ASSERT_OK_AND_ASSIGN(const VolumeSpec spec, ParseVolumeSpec(request.spec.Reveal()));
  EXPECT_EQ(spec.options.source.ToString(), "s3://b/p");
  EXPECT_EQ(spec.options.umask, 077u);
  EXPECT_EQ(spec.credentials.access_key_id, "id");
  EXPECT_EQ(spec.credentials.access_key_secret.Reveal(), "secret");
}

TEST_F(VolumeRequestTest, WrongWordsAreUsageErrors) {
  for (const char* list : {"umaks=1,anonymous", "fuseType=fuse,anonymous", "index_fs=ext4,anonymous"}) {
    EXPECT_EQ(ExitCodeOf(Parse(list).status()), kExitUsage) << list;
  }
  EXPECT_EQ(ExitCodeOf(Parse("anonymous", "ftp://b").status()), kExitUsage);
}

TEST_F(VolumeRequestTest, MissingCredentialsAreAFailure) {
  const absl::Status status = Parse("umask=022").status();
  EXPECT_EQ(ExitCodeOf(status), kExitFailed);
  EXPECT_THAT(status.message(), HasSubstr("credentials"));
}

TEST_F(VolumeRequestTest, TheProxyComesFromTheEnvironment) {
  context_.environment = {{"http_proxy", "http://user:pass@proxy.example:3128"}};
  const auto request = ParseVolumeRequest(context_, "s3://b", {"url=http://minio.example:9000,anonymous"});
  ASSERT_OK(request);
  ASSERT_OK_AND_ASSIGN(const VolumeSpec spec, ParseVolumeSpec(request->spec.Reveal()));
  EXPECT_EQ(spec.options.proxy, "http://proxy.example:3128");
  EXPECT_EQ(spec.proxy_credentials.Reveal(), "user:pass");
}

TEST_F(VolumeRequestTest, SeveralListsCountAsOne) {
  ASSERT_OK_AND_ASSIGN(
      const VolumeRequest request,
      ParseVolumeRequest(context_, "s3://b", {"url=http://127.0.0.1:9000", "anonymous", "uid=7"}));
  EXPECT_EQ(request.options.uid, 7u);
  EXPECT_TRUE(request.options.anonymous);
}

}  // namespace
}  // namespace bucketvol
