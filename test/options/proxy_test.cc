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
  EXPECT_EQ(Apply({{"https_proxy", "http://me:p%40ss@proxy:3128/"}}, With("https://x:443")),
            (Outcome{"http://proxy:3128/", "", "me:p%40ss"}));
}

TEST(ProxyEnvironmentTest, IsNotForThisMachine) {
  const std::map<std::string, std::string> variables = {{"http_proxy", "http://env"}};
  for (const char* url :
       {"http://127.0.0.1:9000", "http://[::1]:80", "http://localhost:80", "http://x.localhost:80"}) {
    EXPECT_EQ(Apply(variables, With(url)).proxy, "") << url;
    EXPECT_EQ(Apply(variables, With(url, "http://named")).proxy, "http://named") << url;
  }
}

TEST(ProxyWithCredentialsTest, PutsThemBack) {
  EXPECT_EQ(ProxyWithCredentials("http://p:1", Secret("me:p%40")), Secret("http://me:p%40@p:1"));
  EXPECT_EQ(ProxyWithCredentials("http://p:1", Secret()), Secret("http://p:1"));
  EXPECT_EQ(ProxyWithCredentials("none", Secret("me:x")), Secret("none"));
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
