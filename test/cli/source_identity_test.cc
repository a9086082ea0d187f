#include "mounter/cli/source_identity.h"

#include "mounter/options/parse_options.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

VolumeSpec Spec() {
  VolumeSpec spec;
  spec.options.source = {Provider::kOss, "b", "p/"};
  spec.options.url = "http://127.0.0.1:9000";
  spec.credentials.access_key_id = "id";
  spec.credentials.access_key_secret = Secret("first secret");
  return spec;
}

TEST(SourceIdentityTest, TheNameIsOfWhatIsShownAndOfWhoseRights) {
  const std::string name = IdentifySource(Spec()).name;
  EXPECT_THAT(name, ::testing::MatchesRegex("[0-9a-f]{32}-[0-9a-f]{32}"));
  EXPECT_EQ(IdentifySource(Spec()).name, name);
  VolumeSpec other = Spec();
  other.options.source.prefix = "q/";
  EXPECT_NE(IdentifySource(other).name, name);
  other = Spec();
  other.options.url = "http://127.0.0.1:9001";
  EXPECT_NE(IdentifySource(other).name, name);
  other = Spec();
  other.options.umask = 077;
  EXPECT_NE(IdentifySource(other).name, name);
  other = Spec();
  other.credentials.access_key_id = "another";
  EXPECT_NE(IdentifySource(other).name, name);
  EXPECT_EQ(WithCredentials(name, other.credentials), IdentifySource(other).name);
  other = Spec();
  other.options.resource_limit = ResourceLimit{1000, 1 << 30};
  EXPECT_EQ(IdentifySource(other).name, name);
}

TEST(SourceIdentityTest, ANewSecretIsAnotherCredentialOfTheSameSource) {
  VolumeSpec rotated = Spec();
  rotated.credentials.access_key_secret = Secret("second secret");
  EXPECT_EQ(IdentifySource(rotated).name, IdentifySource(Spec()).name);
  EXPECT_NE(IdentifySource(rotated).credentials, IdentifySource(Spec()).credentials);
  EXPECT_THAT(IdentifySource(rotated).credentials, Not(HasSubstr("secret")));
  // What a file holds changes by itself.
  VolumeSpec file = Spec();
  file.credentials.file_format = "passwd";
  file.credentials.file_path = "/etc/keys";
  VolumeSpec changed = file;
  changed.credentials.access_key_secret = Secret("second secret");
  EXPECT_EQ(IdentifySource(changed).credentials, IdentifySource(file).credentials);
}

absl::Status Compare(const VolumeSpec& ours, const VolumeSpec& theirs) {
  return CompareTerms(IdentifySource(ours).terms, IdentifySource(theirs).terms, "/mnt");
}

TEST(CompareTermsTest, NamesWhatDiffersAndWhatItIsThere) {
  VolumeSpec limited = Spec();
  limited.options.resource_limit = ResourceLimit{2000, uint64_t{4} << 30};
  EXPECT_OK(Compare(limited, limited));
  EXPECT_THAT(
      Compare(Spec(), limited),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               ::testing::AllOf(HasSubstr("/mnt"), HasSubstr("resourceLimit"), HasSubstr("\"2c4g\""))));
  EXPECT_THAT(Compare(limited, Spec()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("resourceLimit")));
}

TEST(CompareTermsTest, NeverShowsWhatMayHoldASecret) {
  VolumeSpec proxied = Spec();
  proxied.options.proxy = "http://proxy.example";
  EXPECT_THAT(Compare(Spec(), proxied),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       ::testing::AllOf(HasSubstr("proxy"), Not(HasSubstr("example")))));
  VolumeSpec password = Spec();
  password.proxy_credentials = Secret("user:password");
  EXPECT_THAT(Compare(Spec(), password),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("password of the proxy")));
  EXPECT_THAT(IdentifySource(password).terms, Not(HasSubstr("user:password")));
}

TEST(CompareTermsTest, WhatOnlyOneVersionKnowsMustHaveItsDefault) {
  const std::string ours = IdentifySource(Spec()).terms;
  const size_t begin = ours.find("request_rate=");
  std::string older = ours;
  older.erase(begin, ours.find('\n', begin) + 1 - begin);
  EXPECT_OK(CompareTerms(ours, older, "/mnt"));
  VolumeSpec limited = Spec();
  limited.options.request_rate = 5;
  EXPECT_THAT(CompareTerms(IdentifySource(limited).terms, older, "/mnt"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("request_rate")));
  EXPECT_THAT(CompareTerms(ours, ours + "newer=word\n", "/mnt"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("newer")));
}

TEST(CompareTermsTest, ValuesMayHoldAnyByte) {
  VolumeSpec odd = Spec();
  odd.options.ca_file = "/a\nrequest_rate=7";
  EXPECT_OK(Compare(odd, odd));
  EXPECT_THAT(Compare(Spec(), odd), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ca_file")));
}

}  // namespace
}  // namespace bucketvol
