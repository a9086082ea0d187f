#include "mounter/objstore/credentials_chain.h"

#include <sys/stat.h>

#include "mounter/base/file.h"
#include "mounter/cli/credential_spec.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::StatusIs;
using ::bucketvol::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

/// A home directory to fill, and the environment that names it.
class CredentialChainTest : public ::testing::Test {
 protected:
  CredentialChainTest() {
    environment_.home = home_.path();
    settings_.bucket = "b";
  }

  void Set(const std::string& name, const std::string& value) { environment_.variables[name] = value; }
  std::string Write(const std::string& name, const std::string& content, unsigned mode = 0600) {
    const std::string path = home_ / name;
    EXPECT_OK(MakeDirectories(path.substr(0, path.rfind('/'))));
    EXPECT_OK(WriteFileAtomically(path, content, mode));
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  void WriteAllPlaces() {
    settings_.passwd_file = Write("passwd", "passwd-id:s\n");
    Set("OSS_ACCESS_KEY_ID", "oss-id");
    Set("OSS_ACCESS_KEY_SECRET", "s");
    Set("OSS_SESSION_TOKEN", "oss-token");
    Set("AWS_ACCESS_KEY_ID", "aws-id");
    Set("AWS_SECRET_ACCESS_KEY", "s");
    Set("AWS_SESSION_TOKEN", "aws-token");
    Write(".aws/credentials", "[default]\naws_access_key_id=file-id\naws_secret_access_key=s\n");
    Write(".ossutilconfig", "[Credentials]\naccessKeyID=ossutil-id\naccessKeySecret=s\n");
  }
  absl::StatusOr<CredentialSource> Resolve() { return ResolveCredentials(settings_, environment_); }
  std::string Id() {
    const auto source = Resolve();
    return source.ok() ? source->values.access_key_id : std::string(source.status().message());
  }

  TempDir home_;
  CredentialEnvironment environment_;
  CredentialSettings settings_;
};

TEST_F(CredentialChainTest, TakesThePlacesInTheirOrder) {
  WriteAllPlaces();
  EXPECT_EQ(Id(), "passwd-id");
  settings_.passwd_file.clear();
  EXPECT_EQ(Id(), "oss-id");
  environment_.variables.erase("OSS_ACCESS_KEY_ID");
  environment_.variables["OSS_ACCESS_KEY_SECRET"] = "";  // Empty is the same as not there.
  EXPECT_EQ(Id(), "aws-id");
  environment_.variables.clear();
  EXPECT_EQ(Id(), "file-id");
  std::filesystem::remove(home_ / ".aws/credentials");
  EXPECT_EQ(Id(), "ossutil-id");
}

TEST_F(CredentialChainTest, AnonymousNeedsNoneAndTakesNone) {
  WriteAllPlaces();
  settings_.passwd_file.clear();
  settings_.anonymous = true;
  ASSERT_OK_AND_ASSIGN(const CredentialSource source, Resolve());
  EXPECT_TRUE(source.values.anonymous());
  EXPECT_EQ(source.origin, "anonymous");
}

TEST_F(CredentialChainTest, TellsOriginAndTokenOfTheEnvironment) {
  WriteAllPlaces();
  settings_.passwd_file.clear();
  ASSERT_OK_AND_ASSIGN(const CredentialSource source, Resolve());
  EXPECT_EQ(source.values.session_token, Secret("oss-token"));
  EXPECT_EQ(source.origin, "OSS_ACCESS_KEY_ID of the environment");
  EXPECT_FALSE(source.file.has_value());
}

TEST_F(CredentialChainTest, AFileIsKeptToBeReadAgain) {
  WriteAllPlaces();
  ASSERT_OK_AND_ASSIGN(const CredentialSource passwd, Resolve());
  EXPECT_EQ(passwd.file, (CredentialFile{CredentialFormat::kPasswd, home_ / "passwd", "b"}));
  EXPECT_EQ(passwd.origin, home_ / "passwd");
  settings_.passwd_file.clear();
  environment_.variables = {{"AWS_PROFILE", "default"}};
  ASSERT_OK_AND_ASSIGN(const CredentialSource aws, Resolve());
  EXPECT_EQ(aws.file, (CredentialFile{CredentialFormat::kAws, home_ / ".aws/credentials", "default"}));
  EXPECT_EQ(aws.origin, "profile \"default\" of " + (home_ / ".aws/credentials"));
}

TEST_F(CredentialChainTest, HalfAPairIsAnErrorAndTheNextPlaceIsNotTried) {
  WriteAllPlaces();
  settings_.passwd_file.clear();
  environment_.variables.erase("OSS_ACCESS_KEY_SECRET");
  EXPECT_THAT(Resolve(),
              StatusIs(kInvalid, "environment has OSS_ACCESS_KEY_ID but not OSS_ACCESS_KEY_SECRET"));
  environment_.variables.erase("OSS_ACCESS_KEY_ID");
  environment_.variables.erase("AWS_ACCESS_KEY_ID");
  EXPECT_THAT(Resolve(),
              StatusIs(kInvalid, "environment has AWS_SECRET_ACCESS_KEY but not AWS_ACCESS_KEY_ID"));
}

TEST_F(CredentialChainTest, NothingFoundListsWhatWasLookedAt) {
  const std::string aws = home_ / ".aws/credentials";
  const std::string ossutil = home_ / ".ossutilconfig";
  EXPECT_THAT(
      Resolve(),
      StatusIs(absl::StatusCode::kUnauthenticated,
               "no credentials: environment has no OSS_ACCESS_KEY_ID and no OSS_ACCESS_KEY_SECRET; "
               "environment has "
               "no AWS_ACCESS_KEY_ID and no AWS_SECRET_ACCESS_KEY; " +
                   aws + ": No such file or directory; " + ossutil +
                   ": No such file or directory; give passwd_file=FILE, or anonymous for a public bucket"));
}

TEST_F(CredentialChainTest, AHomeThatIsNoneIsNoError) {
  environment_.home.clear();
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("HOME is not set")));
  environment_.home = "/dev/null";
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("No such file")));
}

TEST_F(CredentialChainTest, EnvironmentChoosesFileAndProfile) {
  Set("AWS_SHARED_CREDENTIALS_FILE",
      Write("elsewhere", "[p]\naws_access_key_id=there\naws_secret_access_key=s\n"));
  Set("AWS_PROFILE", "p");
  EXPECT_EQ(Id(), "there");
}

TEST_F(CredentialChainTest, AMissingEnvironmentProfileLeadsOn) {
  Write(".aws/credentials", "[default]\naws_access_key_id=x\naws_secret_access_key=s\n");
  Write(".ossutilconfig", "[default]\naccessKeyID=ossutil-id\naccessKeySecret=s\n");
  Set("AWS_PROFILE", "work");
  EXPECT_EQ(Id(), "ossutil-id");
}

TEST_F(CredentialChainTest, ANamedProfileGoesBeforeTheEnvironment) {
  WriteAllPlaces();
  settings_.passwd_file.clear();
  settings_.profile = "dev";
  Write(".ossutilconfig", "[profile dev]\naccessKeyID=dev-id\naccessKeySecret=s\n");
  EXPECT_EQ(Id(), "dev-id");
  Write(".aws/credentials", "[dev]\naws_access_key_id=aws-dev\naws_secret_access_key=s\n");
  EXPECT_EQ(Id(), "aws-dev");
  settings_.profile = "nobody";
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kNotFound,
                                  AllOf(HasSubstr("profile \"nobody\" is not found: "),
                                        HasSubstr(".aws/credentials has no profile \"nobody\""),
                                        HasSubstr(".ossutilconfig has no profile \"nobody\""))));
}

TEST_F(CredentialChainTest, AProfileThatNeedsARoleIsRefused) {
  Write(".aws/credentials", "[default]\nrole_arn=arn:aws:iam::1:role/x\nsource_profile=base\n");
  EXPECT_THAT(Resolve(), StatusIs(kInvalid, HasSubstr("uses role_arn, which is not supported")));
}

TEST_F(CredentialChainTest, PasswordFilesMustBePrivate) {
  for (const unsigned mode : {0644u, 0640u, 0604u, 0700u, 0610u}) {
    settings_.passwd_file = Write("passwd", "id:hunter2\n", mode);
    EXPECT_THAT(Resolve(),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr("readable by its owner only"),
                               HasSubstr("chmod 600 " + settings_.passwd_file), Not(HasSubstr("hunter2")))))
        << mode;
  }
  for (const unsigned mode : {0600u, 0400u}) {
    settings_.passwd_file = Write("passwd", "id:s\n", mode);
    EXPECT_EQ(Id(), "id") << mode;
  }
}

TEST_F(CredentialChainTest, APasswordFileThatIsNamedMustBeThere) {
  settings_.passwd_file = home_ / "nowhere";
  EXPECT_THAT(Resolve(), StatusIs(absl::StatusCode::kNotFound,
                                  "passwd_file: " + settings_.passwd_file + ": No such file or directory"));
  settings_.passwd_file = home_ / "pipe";
  ASSERT_EQ(mkfifo(settings_.passwd_file.c_str(), 0600), 0);
  EXPECT_THAT(Resolve(), StatusIs(kInvalid, "passwd_file: not a regular file: " + settings_.passwd_file));
}

TEST_F(CredentialChainTest, ADirectoryHoldsTokenFiles) {
  Write("tokens/AccessKeyId", "id\n", 0644);
  settings_.passwd_file = home_ / "tokens";
  EXPECT_THAT(Resolve(), StatusIs(kInvalid, "passwd_file: directory " + settings_.passwd_file +
                                                " has AccessKeyId but not AccessKeySecret"));
  Write("tokens/AccessKeySecret", "secret\n", 0644);
  EXPECT_EQ(Id(), "id");
  Write("tokens/SecurityToken", "token\n", 0644);
  ASSERT_OK_AND_ASSIGN(const CredentialSource source, Resolve());
  EXPECT_EQ(source.values.session_token, Secret("token"));
  EXPECT_EQ(source.file, (CredentialFile{CredentialFormat::kTokenDirectory, settings_.passwd_file, ""}));
}

TEST_F(CredentialChainTest, ASourceTravelsInTheVolumeSpec) {
  WriteAllPlaces();
  ASSERT_OK_AND_ASSIGN(const CredentialSource passwd, Resolve());
  settings_.passwd_file.clear();
  ASSERT_OK_AND_ASSIGN(const CredentialSource variables, Resolve());
  for (const CredentialSource& source : {passwd, variables, CredentialSource()}) {
    ASSERT_OK_AND_ASSIGN(const CredentialSource back, ToCredentialSource(ToSpecCredentials(source)));
    EXPECT_EQ(back.values, source.values);
    EXPECT_EQ(back.file, source.file);
    EXPECT_EQ(back.origin, source.origin);
  }
  SpecCredentials unknown;
  unknown.file_format = "vault";
  EXPECT_THAT(ToCredentialSource(unknown),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("vault")));
}

}  // namespace
}  // namespace bucketvol
