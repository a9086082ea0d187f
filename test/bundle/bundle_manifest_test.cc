#include "mounter/bundle/bundle_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

BundleManifest Sample() {
  BundleManifest manifest;
  manifest.boot = "0b1c";
  manifest.entries = {
      {"bucketvol", "aa11", {1, 2, 3, -4, 5}, "/usr/bin/bucketvol", {6, 7, 8, 9, 10}},
      {"libc.so.6", "bb22", {11, 12, 13, 14, 15}, "/lib/odd place/libc.so.6", {16, 17, 18, 19, 20}}};
  return manifest;
}

TEST(BundleManifestTest, ComesBackAsItWas) {
  ASSERT_OK_AND_ASSIGN(const BundleManifest manifest, BundleManifest::Decode(Sample().Encode()));
  EXPECT_EQ(manifest, Sample());
}

TEST(BundleManifestTest, DamageIsFound) {
  const std::string text = Sample().Encode();
  for (size_t size = 0; size < text.size(); ++size) {
    const auto manifest = BundleManifest::Decode(text.substr(0, size));
    // A whole line less is a manifest of fewer files, whose hash is another.
    if (manifest.ok()) {
      EXPECT_LT(manifest->entries.size(), Sample().entries.size()) << size;
    }
  }
  EXPECT_FALSE(BundleManifest::Decode("bucketvol bundle 2\nboot\n").ok());
  EXPECT_FALSE(BundleManifest::Decode("bucketvol bundle 1\nboot\na b c\n").ok());
}

TEST(BundleManifestTest, TheHashNamesTheContents) {
  const std::string hash = Sample().ContentHash();
  BundleManifest other = Sample();
  other.boot = "other";
  other.entries[0].copy.inode = 99;
  other.entries[0].source = "/elsewhere";
  EXPECT_EQ(other.ContentHash(), hash);
  other.entries[0].sha256 = "aa12";
  EXPECT_NE(other.ContentHash(), hash);
}

TEST(Sha256Test, KnownAnswer) {
  Sha256 hash;
  hash.Add("a");
  hash.Add("bc");
  EXPECT_EQ(hash.Hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");  // FIPS 180-2.
}

}  // namespace
}  // namespace bucketvol
