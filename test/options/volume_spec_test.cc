#include "mounter/options/volume_spec.h"

#include "mounter/options/option_words.h"
#include "mounter/options/parse_options.h"
#include "mounter/options/source.h"
#include "proto/volume_spec.pb.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::StatusIs;

VolumeOptions Parsed(const char* source, const char* words) {
  auto options = ParseVolumeOptions(*ParseSource(source), ParseDashO(words), OptionContext());
  EXPECT_OK(options);
  options->warnings.clear();
  return *std::move(options);
}

VolumeSpec RoundTrip(const VolumeSpec& spec) {
  auto read = ParseVolumeSpec(SerializeVolumeSpec(spec).Reveal());
  EXPECT_OK(read);
  return *std::move(read);
}

proto::VolumeSpec WireOf(const VolumeSpec& spec) {
  proto::VolumeSpec wire;
  EXPECT_TRUE(wire.ParseFromString(SerializeVolumeSpec(spec).Reveal()));
  return wire;
}

TEST(VolumeSpecTest, OptionsComeBackAsTheyWere) {
  const VolumeOptions cases[] = {
      Parsed("oss://b", "url=http://127.0.0.1:9000"),
      Parsed("s3://b/p/q", "url=https://[::1]:9000,anonymous"),
      Parsed(
          "oss://b/p",
          "url=oss-cn-hangzhou.aliyuncs.com,region=cn-beijing,sigVersion=v1,addressing=path,list_objects_v1,"
          "ca_file=/ca.pem,no_check_certificate,proxy=http://proxy:3128,no_proxy=a\\,b,passwd_file=/"
          "pw,umask=077,"
          "uid=1000,gid=100,allow_empty,directMode,prefetch_order=a/"
          "list,index_fs=ext4,transport=file,index_max_age=7d,list_"
          "streams=32,"
          "resourceLimit=2c4g,memory_budget=300MB,node_memory_budget=5GB,node_memory_limit=6GB,request_rate="
          "0.125,connect_timeout="
          "1500ms,request_timeout="
          "1m,state_dir=/"
          "s,run_dir=/r,"
          "log_level=error"),
      Parsed("oss://b", "url=http://127.0.0.1,fuseType=fuse,rw,allow_other=false,profile=x"),
  };
  for (const VolumeOptions& options : cases) {
    EXPECT_EQ(RoundTrip({options, {}, Secret()}).options, options) << options.source.ToString();
  }
}

TEST(VolumeSpecTest, BytesThatAreNoUtf8ComeBackAsTheyWere) {
  VolumeSpec spec;
  spec.options = Parsed("oss://b/\xff\xfe", "url=http://127.0.0.1,ca_file=/\x80");
  spec.credentials.file_path = "/\xc0";
  const VolumeSpec read = RoundTrip(spec);
  EXPECT_EQ(read.options, spec.options);
  EXPECT_EQ(read.credentials, spec.credentials);
}

TEST(VolumeSpecTest, SecretsComeBackAsTheyWere) {
  VolumeSpec spec;
  spec.credentials = {"id",      Secret("secret"), Secret("token"), "aws", "/root/.aws/credentials",
                      "default", "somewhere"};
  spec.proxy_credentials = Secret("me:pw");
  const VolumeSpec read = RoundTrip(spec);
  EXPECT_EQ(read.credentials, spec.credentials);
  EXPECT_EQ(read.proxy_credentials, spec.proxy_credentials);
}

TEST(VolumeSpecTest, DefaultsOfTheWriterHoldForTheReader) {
  // A writer whose default umask is another one than ours.
  proto::VolumeSpec wire = WireOf({});
  for (proto::Setting& setting : *wire.mutable_settings()) {
    if (setting.name() == "umask") setting.set_value("077");
  }
  ASSERT_OK_AND_ASSIGN(const VolumeSpec spec, ParseVolumeSpec(wire.SerializeAsString()));
  EXPECT_EQ(spec.options.umask, 077u);
}

TEST(VolumeSpecTest, ANewerWritersOptionIsIgnoredOnlyAtItsDefault) {
  proto::VolumeSpec wire = WireOf({});
  wire.set_version(kVolumeSpecVersion + 1);
  proto::Setting& setting = *wire.add_settings();
  setting.set_name("from_the_future");
  setting.set_value("x");
  setting.set_is_default(true);
  EXPECT_OK(ParseVolumeSpec(wire.SerializeAsString()));
  setting.set_is_default(false);
  EXPECT_THAT(ParseVolumeSpec(wire.SerializeAsString()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "volume spec has an option this program does not know: from_the_future"));
}

TEST(VolumeSpecTest, AnOlderWritersMissingOptionKeepsTheDefault) {
  proto::VolumeSpec wire = WireOf({});
  wire.clear_settings();
  ASSERT_OK_AND_ASSIGN(const VolumeSpec spec, ParseVolumeSpec(wire.SerializeAsString()));
  EXPECT_EQ(spec.options, VolumeOptions());
}

TEST(VolumeSpecTest, RefusesWhatItCannotRead) {
  proto::VolumeSpec wire = WireOf({});
  wire.set_oldest_reader(kVolumeSpecVersion + 1);
  EXPECT_THAT(ParseVolumeSpec(wire.SerializeAsString()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "volume spec needs a program that reads version 2; this one reads 1"));
  EXPECT_THAT(ParseVolumeSpec(""), StatusIs(absl::StatusCode::kDataLoss, "volume spec has no version"));
  EXPECT_THAT(ParseVolumeSpec("\xff\xff"),
              StatusIs(absl::StatusCode::kDataLoss, "volume spec cannot be read"));
}

TEST(VolumeSpecTest, ABadValueIsNotRepeated) {
  proto::VolumeSpec wire = WireOf({});
  wire.mutable_settings(0)->set_value("???");
  EXPECT_THAT(ParseVolumeSpec(wire.SerializeAsString()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "volume spec has a value this program does not accept: bucket"));
}

}  // namespace
}  // namespace bucketvol
