#include "mounter/options/parse_options.h"

#include "test/options/typed_options.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::AllOf;
using testing::Bare;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kInvalid;
using testing::kUrl;
using ::testing::Not;
using testing::Shell;
using testing::StatusIs;
using testing::Typed;

TEST(ParseVolumeOptionsTest, DefaultsAreThoseOfTheStructAndDerivedOnes) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed(""));
  VolumeOptions expected;
  expected.source = {Provider::kOss, "b", "p/"};
  expected.url = "http://oss-cn-hangzhou-internal.aliyuncs.com:80";
  expected.region = "cn-hangzhou";
  expected.signature = SignatureVersion::kOssV4;
  expected.addressing = AddressingStyle::kVirtualHost;
  expected.read_only = true;
  EXPECT_EQ(options, expected);
}

TEST(ParseVolumeOptionsTest, EveryOptionReachesItsField) {
  ASSERT_OK_AND_ASSIGN(
      const VolumeOptions options,
      Typed("region=cn-beijing,sigVersion=v1,addressing=path,list_objects_v1,ca_file=/"
            "ca.pem,no_check_certificate,"
            "proxy=http://proxy:3128,no_proxy=a\\,b,passwd_file=/"
            "pw,umask=077,uid=1000,gid=100,allow_empty,directMode,prefetch_order=a\\,b/list,"
            "index_fs=ext4,transport=file,index_max_age=1h,list_streams=32,resourceLimit=2c4g,memory_budget="
            "300MiB,node_memory_budget=3GiB,node_memory_limit=8GiB,"
            "request_rate=12.5,"
            "connect_timeout=3s,request_timeout=1m,state_dir=/s,run_dir=/r,log_level=DEBUG"));
  VolumeOptions expected;
  expected.source = {Provider::kOss, "b", "p/"};
  expected.url = "http://oss-cn-hangzhou-internal.aliyuncs.com:80";
  expected.region = "cn-beijing";
  expected.signature = SignatureVersion::kOssV1;
  expected.addressing = AddressingStyle::kPath;
  expected.list_objects_v1 = true;
  expected.ca_file = "/ca.pem";
  expected.check_certificate = false;
  expected.proxy = "http://proxy:3128";
  expected.no_proxy = "a,b";
  expected.passwd_file = "/pw";
  expected.umask = 077;
  expected.uid = 1000;
  expected.gid = 100;
  expected.read_only = true;
  expected.allow_empty = true;
  expected.direct_mode = true;
  expected.prefetch_order = "a,b/list";
  expected.index_fs = IndexFs::kExt4;
  expected.transport = TransportKind::kFile;
  expected.index_max_age = absl::Hours(1);
  expected.list_streams = 32;
  expected.resource_limit = ResourceLimit{2000, 4ULL << 30};
  expected.memory_budget = 300 << 20;
  expected.node_memory_budget = uint64_t{3} << 30;
  expected.node_memory_limit = uint64_t{8} << 30;
  expected.request_rate = 12.5;
  expected.connect_timeout = absl::Seconds(3);
  expected.request_timeout = absl::Minutes(1);
  expected.state_dir = "/s";
  expected.run_dir = "/r";
  expected.log_level = "debug";
  expected.warnings = {"region=cn-beijing does not match the url, which tells cn-hangzhou",
                       "no_check_certificate: whoever sits between can read and change everything",
                       "prefetch_order has no effect with directMode: nothing is fetched ahead"};
  EXPECT_EQ(options, expected);
}

struct Refusal {
  const char* words;
  const char* message;
};

TEST(ParseVolumeOptionsTest, RefusesValuesNamingKeyValueAndWhatIsAccepted) {
  const Refusal cases[] = {
      {"umask=888",
       "option \"umask\" has a value that is not accepted; expected 1-4 octal digits up to 0777, e.g. 022: "
       "\"888\""},
      {"umask=", "option \"umask\" needs a value: umask=OCTAL"},
      {"umask", "option \"umask\" needs a value: umask=OCTAL"},
      {"uid=x",
       "option \"uid\" has a value that is not accepted; expected a number from 0 to 4294967294: \"x\""},
      {"gid=4294967295",
       "option \"gid\" has a value that is not accepted; expected a number from 0 to 4294967294: "
       "\"4294967295\""},
      {"directMode=maybe",
       "option \"directMode\" has a value that is not accepted; expected true or false: \"maybe\""},
      {"fuseType=nfs",
       "option \"fuseType\" has a value that is not accepted; expected image (or strmvol, erofs) or fuse (or "
       "ossfs, "
       "ossfs2): \"nfs\""},
      {"sigVersion=V4", "option \"sigVersion\" has a value that is not accepted; expected v1 or v4: \"V4\""},
      {"resourceLimit=4g",
       "option \"resourceLimit\" has a value that is not accepted; expected <cpus>c<GiB>g, e.g. \"2c4g\", or "
       "none: "
       "\"4g\""},
      {"list_streams=0",
       "option \"list_streams\" has a value that is not accepted; expected a number from 1 to 1024, or auto: "
       "\"0\""},
      {"memory_budget=1MiB",
       "option \"memory_budget\" has a value that is not accepted; expected a size from 16MiB to 1TiB "
       "with "
       "unit KiB, MiB, GiB, KB, MB or GB, or auto: \"1MiB\""},
      {"request_rate=-1",
       "option \"request_rate\" has a value that is not accepted; expected a number from 0 (no limit) to "
       "1000000: "
       "\"-1\""},
      {"request_timeout=10m",
       "option \"request_timeout\" has a value that is not accepted; expected a time from 1s to 1m50s with "
       "unit ms, s, "
       "m, h or d: \"10m\""},
      {"index_fs=xfs",
       "option \"index_fs\" has a value that is not accepted; expected auto, erofs or ext4: \"xfs\""},
      {"region=cn hangzhou",
       "option \"region\" has a value that is not accepted; expected lower-case letters, digits and hyphens, "
       "e.g. "
       "cn-hangzhou: \"cn hangzhou\""},
      {"proxy=http://me:hunter2@proxy",
       "option \"proxy\" has a value that is not accepted; expected http://HOST[:PORT] without user name and "
       "password, "
       "or none"},
      {"=x", "option \"\" has no name before the \"=\""},
  };
  for (const Refusal& c : cases) EXPECT_THAT(Typed(c.words), StatusIs(kInvalid, c.message)) << c.words;
}

TEST(ParseVolumeOptionsTest, RefusesABadPath) {
  for (const char* path : {"path=../x", "path=a/./b"}) {
    EXPECT_THAT(Typed(path, "oss://b"),
                StatusIs(kInvalid, HasSubstr("expected a directory below the bucket's root")));
  }
}

TEST(ParseVolumeOptionsTest, UnknownWordsNameTheNearest) {
  EXPECT_THAT(Typed("resourcelimits=2c4g"),
              StatusIs(kInvalid, "unknown option \"resourcelimits\"; did you mean resourceLimit?"));
  EXPECT_THAT(Typed("frobnicate=hunter2"),
              StatusIs(kInvalid, "unknown option \"frobnicate\"; `bucketvol help options` lists all"));
}

TEST(ParseVolumeOptionsTest, NamesMatchInAnyLetterCase) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed("UMASK=0,ResourceLimit=2C4G,fusetype=EROFS"));
  EXPECT_EQ(options.umask, 0u);
  EXPECT_EQ(options.resource_limit->milli_cpus, 2000u);
}

TEST(ParseVolumeOptionsTest, FlagsTakeAllForms) {
  for (const char* words :
       {"anonymous", "anonymous=true", "anonymous=1", "anonymous=yes", "public_bucket=1"}) {
    ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed(words));
    EXPECT_TRUE(options.anonymous) << words;
  }
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed("public_bucket=0"));
  EXPECT_FALSE(options.anonymous);
}

TEST(ParseVolumeOptionsTest, TheLastOfEqualWordsCountsWithAWarning) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed("umask=0,umask=077"));
  EXPECT_EQ(options.umask, 077u);
  EXPECT_THAT(options.warnings, ElementsAre("option \"umask\" is given twice; the last value counts: 077"));
  ASSERT_OK_AND_ASSIGN(const VolumeOptions same, Typed("umask=022,umask=22"));
  EXPECT_THAT(same.warnings, IsEmpty());
}

TEST(ParseVolumeOptionsTest, RefusesContradictions) {
  const Refusal cases[] = {
      {"ro,rw", "option \"rw\" contradicts option \"ro\"; leave one out"},
      {"addressing=virtual,use_path_request_style",
       "option \"use_path_request_style\" contradicts option \"addressing\"; leave one out"},
      {"list_objects_v1,listobjectsv2",
       "option \"listobjectsv2\" contradicts option \"list_objects_v1\"; leave one out"},
      {"anonymous,public_bucket=0",
       "option \"public_bucket\" contradicts option \"anonymous\"; leave one out"},
      {"passwd_file=/a,passwd_file=/b",
       "option \"passwd_file\" is given twice with different values; leave one out"},
      {"bucket=c", "option \"bucket\" contradicts SOURCE; leave it out"},
      {"path=/q", "option \"path\" contradicts SOURCE; leave it out"},
      {"provider=s3", "option \"provider\" contradicts SOURCE; leave it out"},
      {"anonymous,passwd_file=/a",
       "options \"anonymous\" and \"passwd_file\" contradict each other; leave one out"},
      {"anonymous,profile=x", "options \"anonymous\" and \"profile\" contradict each other; leave one out"},
      {"passwd_file=/a,profile=x",
       "options \"passwd_file\" and \"profile\" contradict each other; leave one out"},
      {"rw", "option \"rw\": an image volume is read-only; leave it out, or use fuseType=fuse"},
      {"url=other.example", "option \"url\" is given twice with different values; leave one out"},
  };
  for (const Refusal& c : cases) EXPECT_THAT(Typed(c.words), StatusIs(kInvalid, c.message)) << c.words;
}

TEST(ParseVolumeOptionsTest, WordsThatAgreeAreFine) {
  ASSERT_OK_AND_ASSIGN(
      const VolumeOptions options,
      Typed("addressing=path,use_path_request_style,bucket=b,path=/p/,anonymous,public_bucket=1,ro"));
  EXPECT_EQ(options.addressing, AddressingStyle::kPath);
  EXPECT_THAT(options.warnings, IsEmpty());
}

TEST(ParseVolumeOptionsTest, PathCompletesASourceWithout) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed("path=/x//y", "oss://b"));
  EXPECT_EQ(options.source.ToString(), "oss://b/x/y");
}

TEST(ParseVolumeOptionsTest, SecretsAreRefusedAndNeverRepeated) {
  EXPECT_THAT(
      Typed("akSecret=hunter2"),
      StatusIs(kInvalid,
               "option \"akSecret\" is a secret and must not stand in a command line, which every user can "
               "read: put it into the environment (OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET), "
               "~/.aws/credentials, or a file named by passwd_file="));
  for (const char* word : {"akId", "AccessKeyId", "accesskeysecret", "secretAccessKey", "SecurityToken",
                           "oss_access_key_secret", "session_token"}) {
    EXPECT_THAT(Typed(std::string(word) + "=hunter2"),
                StatusIs(kInvalid, AllOf(HasSubstr("is a secret"), Not(HasSubstr("hunter2")))))
        << word;
  }
}

TEST(ParseVolumeOptionsTest, WordsOfFstabAreDropped) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options,
                       Typed("auto,noauto,user,nouser,users,_netdev,nofail,defaults,nodev,nosuid,noatime,"
                             "x-systemd.automount,x-systemd.device-timeout=10"));
  EXPECT_THAT(options.warnings, IsEmpty());
}

TEST(ParseVolumeOptionsTest, MountHelperDropsTheReadWriteThatMountAdds) {
  OptionContext context = Shell();
  context.mount_helper = true;
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed("rw,umask=0", "oss://b", context));
  EXPECT_TRUE(options.read_only);
}

TEST(ParseVolumeOptionsTest, EmptyWordsAreIgnoredWithAWarning) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed("umask=0,,uid=1"));
  EXPECT_THAT(options.warnings, ElementsAre("empty option between commas is ignored"));
}

TEST(ParseVolumeOptionsTest, RelativePathsStartAtTheWorkingDirectory) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed("ca_file=ca.pem,passwd_file=~/pw"));
  EXPECT_EQ(options.ca_file, "/home/user/ca.pem");
  EXPECT_EQ(options.passwd_file, "/home/me/pw");
  EXPECT_THAT(Typed("ca_file=ca.pem", "oss://b", OptionContext()),
              StatusIs(kInvalid, "option \"ca_file\" must be an absolute path"));
}

TEST(ParseVolumeOptionsTest, SignatureFollowsRegionAndProvider) {
  struct Case {
    const char* source;
    const char* words;
    SignatureVersion signature;
    const char* region;
  };
  const Case cases[] = {
      {"oss://b", "url=oss-cn-hangzhou.aliyuncs.com", SignatureVersion::kOssV4, "cn-hangzhou"},
      {"oss://b", "url=http://127.0.0.1:9000", SignatureVersion::kOssV1, ""},
      {"oss://b", "url=http://127.0.0.1:9000,region=oss-cn-x", SignatureVersion::kOssV4, "cn-x"},
      {"oss://b", "url=oss-cn-hangzhou.aliyuncs.com,sigVersion=v1", SignatureVersion::kOssV1, "cn-hangzhou"},
      {"s3://b", "url=http://127.0.0.1:9000", SignatureVersion::kSigV4, "us-east-1"},
      {"s3://b", "url=http://127.0.0.1:9000,sigVersion=v4,region=eu", SignatureVersion::kSigV4, "eu"},
      {"s3://b", "url=s3.eu-west-1.amazonaws.com", SignatureVersion::kSigV4, "eu-west-1"},
  };
  for (const Case& c : cases) {
    ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Bare(c.words, c.source));
    EXPECT_EQ(options.signature, c.signature) << c.words;
    EXPECT_EQ(options.region, c.region) << c.words;
  }
  EXPECT_THAT(Bare("url=http://127.0.0.1:9000,sigVersion=v4"),
              StatusIs(kInvalid,
                       "sigVersion=v4 needs a region, which the url does not tell; add region=, e.g. "
                       "region=cn-hangzhou: \"http://127.0.0.1:9000\""));
  EXPECT_THAT(Bare("url=http://127.0.0.1:9000,sigVersion=v1", "s3://b"),
              StatusIs(kInvalid, "sigVersion=v1 does not exist for S3; leave it out or use v4"));
}

TEST(ParseVolumeOptionsTest, UrlIsRequiredExceptForAmazonWithARegion) {
  EXPECT_THAT(Bare(""), StatusIs(kInvalid,
                                 "missing option: url (the endpoint, e.g. "
                                 "url=oss-cn-hangzhou-internal.aliyuncs.com)"));
  EXPECT_THAT(Bare("", "s3://b"), StatusIs(kInvalid,
                                           "missing option: url (the endpoint; for Amazon S3 region=REGION "
                                           "is enough)"));
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Bare("region=eu-west-1", "s3://b"));
  EXPECT_EQ(options.url, "https://s3.eu-west-1.amazonaws.com:443");
  ASSERT_OK_AND_ASSIGN(const VolumeOptions china, Bare("region=cn-north-1", "s3://b"));
  EXPECT_EQ(china.url, "https://s3.cn-north-1.amazonaws.com.cn:443");
}

TEST(ParseVolumeOptionsTest, AddressingCanBeForcedWhereItIsPossible) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options,
                       Bare("url=http://s3.example.com,addressing=virtual", "s3://b"));
  EXPECT_EQ(options.addressing, AddressingStyle::kVirtualHost);
  EXPECT_THAT(Bare("url=http://127.0.0.1,addressing=virtual"),
              StatusIs(kInvalid,
                       "addressing=virtual is impossible with an IP address; use addressing=path: "
                       "\"http://127.0.0.1:80\""));
  EXPECT_THAT(Bare(kUrl, "oss://Upper"),
              StatusIs(kInvalid, "bucket name cannot stand in a host name; add addressing=path: \"Upper\""));
  EXPECT_THAT(Bare(kUrl, "oss://b.oss-cn-hangzhou.aliyuncs.com/p"),
              StatusIs(kInvalid,
                       "bucket names of OSS hold no dot; the endpoint belongs into url=: "
                       "\"b.oss-cn-hangzhou.aliyuncs.com\""));
}

TEST(ParseVolumeOptionsTest, AnImageIsReadOnlyAndOpenToAll) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed("allow_other=false"));
  EXPECT_TRUE(options.read_only);
  EXPECT_TRUE(options.allow_other);
  EXPECT_THAT(options.warnings,
              ElementsAre("allow_other=false has no effect: an image volume is open to all users"));
}

TEST(ParseVolumeOptionsTest, AFuseVolumeMayBeWrittenAndWarnsOfImageWords) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed("fuseType=ossfs2,rw,index_fs=erofs"));
  EXPECT_EQ(options.kind, VolumeKind::kFuse);
  EXPECT_FALSE(options.read_only);
  EXPECT_THAT(options.warnings, ElementsAre("option \"index_fs\" has no effect on a fuse volume"));
  ASSERT_OK_AND_ASSIGN(const VolumeOptions read_only, Typed("fuseType=fuse,ro"));
  EXPECT_TRUE(read_only.read_only);
}

TEST(ParseVolumeOptionsTest, TheContextGivesTheDefaultKind) {
  OptionContext context = Shell();
  context.default_kind = VolumeKind::kFuse;
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Typed("", "oss://b", context));
  EXPECT_EQ(options.kind, VolumeKind::kFuse);
}

TEST(SourceOptionsKeyTest, ChangesWithWhatIsSeenAndNothingElse) {
  const std::string key = SourceOptionsKey(*Typed(""));
  EXPECT_EQ(key,
            "bucket=b\npath=/p/\nprovider=oss\nfuseType=image\nurl=http://"
            "oss-cn-hangzhou-internal.aliyuncs.com:80\n"
            "umask=022\nuid=0\ngid=0\n");
  for (const char* words : {"umask=0", "uid=1", "gid=1", "fuseType=fuse"}) {
    EXPECT_NE(SourceOptionsKey(*Typed(words)), key) << words;
  }
  EXPECT_NE(SourceOptionsKey(*Typed("", "oss://b/q")), key);
  EXPECT_NE(SourceOptionsKey(*Typed("", "oss://c/p")), key);
  EXPECT_NE(SourceOptionsKey(*Bare("url=http://127.0.0.1")), key);
  for (const char* words :
       {"request_rate=5", "index_max_age=1h", "state_dir=/x", "anonymous", "transport=file"}) {
    EXPECT_EQ(SourceOptionsKey(*Typed(words)), key) << words;
  }
}

TEST(ServingOptionsTest, HoldsWhatOneWorkerCanHaveOneValueOfOnly) {
  const auto serving = ServingOptions(*Typed(""));
  for (const char* words : {"request_rate=5", "state_dir=/x", "transport=file", "resourceLimit=1c1g",
                            "directMode", "request_timeout=5s", "log_level=debug", "ca_file=/x"}) {
    EXPECT_NE(ServingOptions(*Typed(words)), serving) << words;
  }
  for (const char* words : {"index_max_age=1h", "list_streams=5", "run_dir=/x", "anonymous", "passwd_file=/x",
                            "transport=loop", "index_fs=erofs", "umask=0"}) {
    EXPECT_EQ(ServingOptions(*Typed(words)), serving) << words;
  }
  EXPECT_EQ(serving.at("transport"), "loop");
}

TEST(DescribeOptionsTest, ListsWhatDiffersFromTheDefaults) {
  EXPECT_EQ(DescribeOptions(*Typed("umask=077,resourceLimit=2c4g")),
            "bucket=b, path=/p/, url=http://oss-cn-hangzhou-internal.aliyuncs.com:80, region=cn-hangzhou, "
            "addressing=virtual, umask=077, resourceLimit=2c4g, ro=true");
}

}  // namespace
}  // namespace bucketvol
