#include <string>
#include <utility>
#include <vector>

#include "mounter/options/parse_options.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::StatusIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

/// As the volumeAttributes of a PersistentVolume.
absl::StatusOr<VolumeOptions> Volume(const std::vector<std::pair<const char*, const char*>>& attributes,
                                     const std::string& other_opts = "", const OptionContext& context = {}) {
  std::vector<OptionWord> words;
  for (const auto& [key, value] : attributes) words.push_back({key, value, OptionPlace::kAttribute});
  const auto others = ParseOtherOpts(other_opts);
  words.insert(words.end(), others.value().begin(), others.value().end());
  return ParseVolumeOptions(std::nullopt, words, context);
}

std::vector<std::pair<const char*, const char*>> Minimal() {
  return {{"bucket", "b"}, {"url", "oss-cn-hangzhou-internal.aliyuncs.com"}};
}

absl::StatusOr<VolumeOptions> VolumeWith(const char* key, const char* value,
                                         const std::string& other_opts = "") {
  auto attributes = Minimal();
  attributes.emplace_back(key, value);
  return Volume(attributes, other_opts);
}

TEST(VolumeAttributesTest, ReadsAStreamingVolume) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Volume({{"bucket", " my-bucket "},
                                                            {"Path", "/subpath"},
                                                            {"URL", "oss-cn-hangzhou-internal.aliyuncs.com"},
                                                            {"umask", "000"},
                                                            {"directMode", "false"},
                                                            {"region", ""},
                                                            {"resourceLimit", "2c4g"}}));
  EXPECT_EQ(options.source.ToString(), "oss://my-bucket/subpath");
  EXPECT_EQ(options.umask, 0u);
  EXPECT_EQ(options.region, "cn-hangzhou");
  EXPECT_THAT(options.warnings, IsEmpty());
}

TEST(VolumeAttributesTest, UnknownWordsNameTheNearestThatMayStandThere) {
  EXPECT_THAT(
      VolumeWith("resourcelimits", "2c4g"),
      StatusIs(kInvalid, "unknown volumeAttributes key \"resourcelimits\"; did you mean resourceLimit?"));
  EXPECT_THAT(VolumeWith("umask", "022", "-o umsak=0"),
              StatusIs(kInvalid, "unknown otherOpts word \"umsak\"; did you mean umask?"));
  EXPECT_THAT(VolumeWith("state_dirr", "/x"), StatusIs(kInvalid, Not(HasSubstr("did you mean"))));
}

TEST(VolumeAttributesTest, SecretsAreRefused) {
  EXPECT_THAT(
      VolumeWith("akId", "LTAI-hunter2"),
      StatusIs(kInvalid,
               "volumeAttributes key \"akId\" is a secret and must not stand in the volume: put it into "
               "a Secret and name that in nodeStageSecretRef or nodePublishSecretRef"));
}

TEST(VolumeAttributesTest, NamesAllThatIsMissing) {
  EXPECT_THAT(Volume({}), StatusIs(kInvalid,
                                   "missing volumeAttributes: bucket, url (the endpoint, e.g. "
                                   "url=oss-cn-hangzhou-internal.aliyuncs.com)"));
  EXPECT_THAT(Volume({{"url", "x.example"}}), StatusIs(kInvalid, "missing volumeAttributes: bucket"));
}

TEST(VolumeAttributesTest, KeysEqualButForCaseAreRefused) {
  EXPECT_THAT(
      Volume({{"bucket", "b"}, {"Bucket", "b"}}),
      StatusIs(kInvalid, "volumeAttributes key \"bucket\" and \"Bucket\" are the same; leave one out"));
}

TEST(VolumeAttributesTest, BooleansAreTrueOrFalse) {
  EXPECT_THAT(
      VolumeWith("directMode", "yes"),
      StatusIs(kInvalid,
               "volumeAttributes key \"directMode\" has a value that is not accepted; expected true or "
               "false: \"yes\""));
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, VolumeWith("directMode", "True"));
  EXPECT_TRUE(options.direct_mode);
}

TEST(VolumeAttributesTest, OtherOptsWinOverAttributesButForIdentity) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options,
                       VolumeWith("umask", "022", "-o umask=077 -o allow_other,ro"));
  EXPECT_EQ(options.umask, 077u);
  EXPECT_THAT(options.warnings,
              ElementsAre("otherOpts word \"umask\" is given twice; the last value counts: 077"));
  EXPECT_THAT(
      VolumeWith("path", "/a", "-o bucket=c"),
      StatusIs(kInvalid,
               "otherOpts word \"bucket\" contradicts volumeAttributes key \"bucket\"; leave one out"));
}

TEST(VolumeAttributesTest, AnOrderOfPrefetchIsAnAttributeOrAWord) {
  ASSERT_OK_AND_ASSIGN(const VolumeOptions attribute, VolumeWith("prefetch_order", "lists/train.txt"));
  EXPECT_EQ(attribute.prefetch_order, "lists/train.txt");
  ASSERT_OK_AND_ASSIGN(const VolumeOptions word,
                       VolumeWith("umask", "022", "-o prefetch_order=lists/train.txt"));
  EXPECT_EQ(word.prefetch_order, "lists/train.txt");
}

TEST(VolumeAttributesTest, FilesOfTheNodeNeedPermission) {
  EXPECT_THAT(
      VolumeWith("passwd_file", "/etc/shadow"),
      StatusIs(kInvalid,
               "volumeAttributes key \"passwd_file\" names a file or host of the node, which a volume may "
               "not choose; the administrator can permit it with --allow-option passwd_file"));
  EXPECT_THAT(VolumeWith("umask", "0", "-o proxy=http://x"),
              StatusIs(kInvalid, HasSubstr("otherOpts word \"proxy\" names a file or host of the node")));
  OptionContext context;
  context.permitted = {"PASSWD_FILE"};
  auto attributes = Minimal();
  attributes.emplace_back("passwd_file", "/secrets/pw");
  ASSERT_OK_AND_ASSIGN(const VolumeOptions options, Volume(attributes, "", context));
  EXPECT_EQ(options.passwd_file, "/secrets/pw");
  attributes.back().second = "secrets/pw";
  EXPECT_THAT(Volume(attributes, "", context),
              StatusIs(kInvalid, "volumeAttributes key \"passwd_file\" must be an absolute path"));
}

TEST(VolumeAttributesTest, DirectoriesOfTheNodeAreNeverTaken) {
  OptionContext context;
  context.permitted = {"state_dir"};
  EXPECT_THAT(
      Volume({{"state_dir", "/etc"}}, "", context),
      StatusIs(kInvalid,
               "volumeAttributes key \"state_dir\" is set for the whole node by the node plugin's flags"));
}

TEST(VolumeAttributesTest, MountWordsBelongElsewhere) {
  EXPECT_THAT(
      VolumeWith("ro", "true"),
      StatusIs(kInvalid,
               "volumeAttributes key \"ro\" is a mount option; write it into mountOptions or otherOpts"));
  const std::vector<OptionWord> words = {{"bucket", "b", OptionPlace::kAttribute},
                                         {"url", "http://127.0.0.1", OptionPlace::kAttribute},
                                         {"rw", std::nullopt, OptionPlace::kMountOptions}};
  EXPECT_THAT(ParseVolumeOptions(std::nullopt, words, {}),
              StatusIs(kInvalid, HasSubstr("an image volume is read-only")));
}

}  // namespace
}  // namespace bucketvol
