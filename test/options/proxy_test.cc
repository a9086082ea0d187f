#include "mounter/options/proxy.h"

#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::StatusIs;

struct Outcome {
  std::string proxy;
  std::string no_proxy;
  std::string credentials;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome Apply(const std::map<std::string, std::string>& variables, VolumeOptions options) {
  Secret credentials;
  EXPECT_OK(ApplyProxyEnvironment(variables, options, credentials));
  return {options.proxy, options.no_proxy, credentials.Reveal()};
}

VolumeOptions With(const std::string& url, const std::string& proxy = "") {
  VolumeOptions options;
  options.url = url;
  options.proxy = proxy;
  return options;
}

TEST(ProxyEnvironmentTest, FollowsTheSchemeOfTheEndpoint) {
  const std::map<std::string, std::string> variables = {
      {"https_proxy", "http://secure:1"}, {"http_proxy", "http://plain:2"}, {"no_proxy", "a,b"}};
  EXPECT_EQ(Apply(variables, With("https://x:443")), (Outcome{"http://secure:1", "a,b", ""}));
  EXPECT_EQ(Apply(variables, With("http://x:80")), (Outcome{"http://plain:2", "a,b", ""}));
}

TEST(ProxyEnvironmentTest, KnowsUpperCaseButForHttpProxy) {
  EXPECT_EQ(Apply({{"HTTPS_PROXY", "http://s:1"}, {"NO_PROXY", "c"}}, With("https://x:443")),
            (Outcome{"http://s:1", "c", ""}));
  EXPECT_EQ(Apply({{"HTTP_PROXY", "http://evil:1"}}, With("http://x:80")), (Outcome{"", "", ""}));
  EXPECT_EQ(Apply({{"ALL_PROXY", "proxy:3128"}}, With("http://x:80")),
            (Outcome{"http://proxy:3128", "", ""}));
}

TEST(ProxyEnvironmentTest, OptionsGoFirst) {
  EXPECT_EQ(Apply({{"https_proxy", "http://env"}, {"no_proxy", "c"}}, With("https://x:443", "none")),
            (Outcome{"none", "c", ""}));
}

TEST(ProxyEnvironmentTest, CredentialsTravelApart) {
  EXPECT_EQ(Apply({{"https_proxy", "http://me:p%40ss%2@proxy:3128/"}}, With("https://x:443")),
            (Outcome{"http://proxy:3128/", "", "me:p@ss%2"}));
}

TEST(ProxyEnvironmentTest, ErrorsNameTheVariableOnly) {
  VolumeOptions options = With("https://x:443");
  Secret credentials;
  EXPECT_THAT(
      ApplyProxyEnvironment({{"https_proxy", "socks5://me:hunter2@x"}}, options, credentials),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          "environment variable https_proxy names no proxy of the form http://[USER:PASSWORD@]HOST[:PORT]"));
}

}  // namespace
}  // namespace bucketvol
