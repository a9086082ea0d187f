#include "mounter/cli/index_choice.h"

#include "gtest/gtest.h"
#include "mounter/options/parse_options.h"

namespace bucketvol {
namespace {

VolumeOptions Options() {
  VolumeOptions options;
  options.source = {Provider::kS3, "b", "p/"};
  options.url = "http://127.0.0.1:9000";
  return options;
}

IndexManifest ManifestOf(const VolumeOptions& options) {
  IndexManifest manifest;
  manifest.source = options.source.ToString();
  manifest.endpoint = options.url;
  manifest.prefix = options.source.prefix;
  manifest.options = SourceOptionsKey(options);
  return manifest;
}

TEST(IndexChoiceTest, AnIndexFitsItsOwnOptionsOnly) {
  const IndexManifest manifest = ManifestOf(Options());
  EXPECT_TRUE(IndexFits(manifest, Options()));
  VolumeOptions other = Options();
  other.umask = 077;
  EXPECT_FALSE(IndexFits(manifest, other));
  other = Options();
  other.source.prefix = "q/";
  EXPECT_FALSE(IndexFits(manifest, other));
  other = Options();
  other.url = "http://127.0.0.1:9001";
  EXPECT_FALSE(IndexFits(manifest, other));
}

TEST(IndexChoiceTest, ByDefaultOnlyAListingBegunAfterTheRequestWillDo) {
  const absl::Time asked = absl::FromUnixSeconds(1'000'000);
  IndexManifest manifest = ManifestOf(Options());
  manifest.report.built_at = asked - absl::Seconds(1);
  EXPECT_FALSE(IsFreshEnough(manifest, Options(), asked));
  manifest.report.built_at = asked + absl::Milliseconds(1);
  EXPECT_TRUE(IsFreshEnough(manifest, Options(), asked));
}

TEST(IndexChoiceTest, MaxAgeBoundsTheAge) {
  const absl::Time asked = absl::FromUnixSeconds(1'000'000);
  VolumeOptions options = Options();
  options.index_max_age = absl::Hours(1);
  IndexManifest manifest = ManifestOf(options);
  manifest.report.built_at = asked - absl::Minutes(59);
  EXPECT_TRUE(IsFreshEnough(manifest, options, asked));
  manifest.report.built_at = asked - absl::Minutes(61);
  EXPECT_FALSE(IsFreshEnough(manifest, options, asked));
}

TEST(IndexChoiceTest, CredentialsAreIdentityButSecretsAndRotationAreNot) {
  VolumeSpec spec;
  spec.options = Options();
  const std::string anonymous = IndexKeyOf(spec).identity;
  spec.credentials.access_key_id = "id";
  spec.credentials.access_key_secret = Secret("one");
  const std::string pair = IndexKeyOf(spec).identity;
  EXPECT_NE(anonymous, pair);
  EXPECT_EQ(pair.find("one"), std::string::npos);
  spec.credentials.access_key_secret = Secret("two");
  EXPECT_EQ(IndexKeyOf(spec).identity, pair);
  spec.credentials.file_format = "passwd";
  spec.credentials.file_path = "/etc/passwd-b";
  const std::string file = IndexKeyOf(spec).identity;
  EXPECT_NE(file, pair);
  spec.credentials.access_key_id = "rotated";
  EXPECT_EQ(IndexKeyOf(spec).identity, file);
}

}  // namespace
}  // namespace bucketvol
