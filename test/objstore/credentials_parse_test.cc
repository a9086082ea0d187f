#include "mounter/objstore/credentials_parse.h"

#include "mounter/objstore/credentials_ini.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr auto kNotFound = absl::StatusCode::kNotFound;

Credentials Keys(const char* id, const char* secret, const char* token = "") {
  return {id, Secret(secret), Secret(token)};
}

struct Refusal {
  const char* content;
  const char* message;
};

TEST(ParsePasswdFileTest, TheBucketsOwnEntryGoesFirst) {
  constexpr char kContent[] = "# comment\n\n id:secret \r\nmine:my-id:my-secret\nother:x:y";
  ASSERT_OK_AND_ASSIGN(const Credentials mine, ParsePasswdFile(kContent, "mine", "/p"));
  EXPECT_EQ(mine, Keys("my-id", "my-secret"));
  ASSERT_OK_AND_ASSIGN(const Credentials all, ParsePasswdFile(kContent, "third", "/p"));
  EXPECT_EQ(all, Keys("id", "secret"));
}

TEST(ParsePasswdFileTest, ReadsNamedKeys) {
  ASSERT_OK_AND_ASSIGN(const Credentials keys,
                       ParsePasswdFile("OSSAccessKeyId=i\nOSSSecretKey=s=\n", "b", "/p"));
  EXPECT_EQ(keys, Keys("i", "s="));
}

TEST(ParsePasswdFileTest, RefusesWithFileAndLineAndNoSecret) {
  const Refusal cases[] = {
      {"id:hunter2\nid:hunter2 x", "/p:2: white space or a control byte within the entry"},
      {"id: hunter2", "/p:1: white space or a control byte within the entry"},
      {"[default]\nhunter2", "/p:1: begins with \"[\": this is no password file; see profile="},
      {"hunter2", "/p:1: expected ID:SECRET or BUCKET:ID:SECRET"},
      {"a:b:c:hunter2", "/p:1: expected ID:SECRET or BUCKET:ID:SECRET"},
      {"a:hunter2\nb:hunter2", "/p:2: second entry for all buckets; the first is in line 1"},
      {"b:a:hunter2\n#\nb:a:hunter2", "/p:3: second entry for bucket \"b\"; the first is in line 1"},
      {"\nid:", "/p:2: has an access key id but not a secret"},
      {":hunter2", "/p:1: has a secret but not an access key id"},
      {":", "/p:1: has no access key id and no secret"},
      {":id:hunter2", "/p:1: has no bucket before the first \":\""},
      {"OSSAccessKeyId=i\n", "/p has OSSAccessKeyId but not OSSSecretKey"},
      {"OSSSecretKey=hunter2\n", "/p has OSSSecretKey but not OSSAccessKeyId"},
      {"OSSSecretKey=a\nOSSSecretKey=b\n", "/p:2: a key is given twice"},
  };
  for (const Refusal& c : cases) {
    EXPECT_THAT(ParsePasswdFile(c.content, "b", "/p"), StatusIs(kInvalid, c.message)) << c.content;
  }
}

TEST(ParsePasswdFileTest, TellsThatNothingFits) {
  for (const char* content : {"", "# only\n", "other:id:secret\n"}) {
    EXPECT_THAT(ParsePasswdFile(content, "b", "/p"),
                StatusIs(kNotFound, "/p has no entry for bucket \"b\" and none for all buckets"));
  }
}

TEST(ParseIniTest, ReadsSectionsKeysAndComments) {
  ASSERT_OK_AND_ASSIGN(const IniFile file,
                       ParseIni("\xEF\xBB\xBF# c\n; c\n[ a ]\r\nKey = v = w \n  nested = x\n"
                                "[profile \"b\"]\nkey=\n[a]\nkey=last\nother=1",
                                "/p"));
  const IniFile expected = {{"a", {{"key", "last"}, {"other", "1"}}}, {"profile b", {{"key", ""}}}};
  EXPECT_EQ(file, expected);
}

TEST(ParseIniTest, RefusesWithFileAndLineAndNoSecret) {
  const Refusal cases[] = {
      {"[a\nk=v", "/p:1: a section has no \"]\" at the end of its line"},
      {"[", "/p:1: a section has no \"]\" at the end of its line"},
      {"[a]\nhunter2", "/p:2: expected [section] or key = value"},
      {"k=hunter2", "/p:1: expected a [section] before the first key"},
  };
  for (const Refusal& c : cases)
    EXPECT_THAT(ParseIni(c.content, "/p"), StatusIs(kInvalid, c.message)) << c.content;
}

constexpr char kAws[] =
    "[default]\naws_access_key_id = D\naws_secret_access_key = DS\n"
    "[token]\nAWS_Access_Key_Id=T\naws_secret_access_key=TS\naws_session_token=TT\n"
    "[half]\naws_access_key_id=H\n"
    "[otherhalf]\naws_secret_access_key=hunter2\n"
    "[role]\nrole_arn=arn:x\nsource_profile=default\n"
    "[program]\ncredential_process=/bin/x --secret hunter2\n"
    "[blank]\naws_access_key_id=a b\naws_secret_access_key=hunter2\n"
    "[nothing]\nregion=eu\n";

TEST(ParseAwsCredentialsTest, ReadsProfiles) {
  ASSERT_OK_AND_ASSIGN(const Credentials standard, ParseAwsCredentials(kAws, "", "/p"));
  EXPECT_EQ(standard, Keys("D", "DS"));
  ASSERT_OK_AND_ASSIGN(const Credentials token, ParseAwsCredentials(kAws, "token", "/p"));
  EXPECT_EQ(token, Keys("T", "TS", "TT"));
}

TEST(ParseAwsCredentialsTest, RefusesWhatItCannotUse) {
  const std::pair<const char*, const char*> cases[] = {
      {"half", "profile \"half\" of /p has aws_access_key_id but not aws_secret_access_key"},
      {"otherhalf", "profile \"otherhalf\" of /p has aws_secret_access_key but not aws_access_key_id"},
      {"role",
       "profile \"role\" of /p uses role_arn, which is not supported; name a profile that holds "
       "aws_access_key_id and "
       "aws_secret_access_key"},
      {"program",
       "profile \"program\" of /p uses credential_process, which is not supported; name a profile that holds "
       "aws_access_key_id and aws_secret_access_key"},
      {"blank", "profile \"blank\" of /p has white space or a control byte within aws_access_key_id"},
  };
  for (const auto& [profile, message] : cases) {
    EXPECT_THAT(ParseAwsCredentials(kAws, profile, "/p"), StatusIs(kInvalid, message));
  }
  EXPECT_THAT(ParseAwsCredentials(kAws, "nobody", "/p"), StatusIs(kNotFound, "/p has no profile \"nobody\""));
  EXPECT_THAT(
      ParseAwsCredentials(kAws, "nothing", "/p"),
      StatusIs(kNotFound, "profile \"nothing\" of /p has no aws_access_key_id and no aws_secret_access_key"));
}

TEST(ParseOssutilConfigTest, ReadsBothVersions) {
  ASSERT_OK_AND_ASSIGN(
      const Credentials one,
      ParseOssutilConfig("[Credentials]\nlanguage=EN\nendpoint=x\naccessKeyID=I\naccessKeySecret=S\n"
                         "stsToken=T\n[Bucket-Endpoint]\nb=e\n",
                         "", "/p"));
  EXPECT_EQ(one, Keys("I", "S", "T"));
  constexpr char kTwo[] =
      "[default]\naccess-key-id=D\naccess_key_secret=DS\n[profile dev]\nAccessKeyId=V\naccessKeySecret=VS\n";
  ASSERT_OK_AND_ASSIGN(const Credentials two, ParseOssutilConfig(kTwo, "", "/p"));
  EXPECT_EQ(two, Keys("D", "DS"));
  ASSERT_OK_AND_ASSIGN(const Credentials dev, ParseOssutilConfig(kTwo, "dev", "/p"));
  EXPECT_EQ(dev, Keys("V", "VS"));
}

TEST(ParseOssutilConfigTest, RefusesWhatItCannotUse) {
  EXPECT_THAT(ParseOssutilConfig("[default]\naccessKeySecret=hunter2\n", "", "/p"),
              StatusIs(kInvalid, "section [default] of /p has accessKeySecret but not accessKeyID"));
  EXPECT_THAT(ParseOssutilConfig("[default]\nmode=EcsRamRole\n", "", "/p"),
              StatusIs(kNotFound, "section [default] of /p has no accessKeyID and no accessKeySecret"));
  EXPECT_THAT(ParseOssutilConfig("[default]\n", "dev", "/p"),
              StatusIs(kNotFound, "/p has no profile \"dev\""));
}

TEST(MakeCredentialsTest, TrimsTheEndsAndRefusesBlanksWithin) {
  const KeyPairNames names = {"place", "ID", "SECRET"};
  ASSERT_OK_AND_ASSIGN(const Credentials keys, MakeCredentials(names, " i\n", "\ts ", "t\r\n"));
  EXPECT_EQ(keys, Keys("i", "s", "t"));
  EXPECT_THAT(MakeCredentials(names, "i", "hunter 2", ""),
              StatusIs(kInvalid, "place has white space or a control byte within SECRET"));
  EXPECT_THAT(MakeCredentials(names, "i", "s", "hunter\x01"),
              StatusIs(kInvalid, AllOf(HasSubstr("within the session token"), Not(HasSubstr("hunter")))));
}

}  // namespace
}  // namespace bucketvol
