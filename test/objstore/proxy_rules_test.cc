#include "mounter/objstore/proxy_rules.h"

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

ProxySettings Environment(std::string no_proxy = "") {
  return {.env_http_proxy = "http://web:1",
          .env_https_proxy = "http://secure:2",
          .env_no_proxy = std::move(no_proxy)};
}

TEST(ProxyRulesTest, TheEnvironmentDecidesByScheme) {
  EXPECT_EQ(ProxyFor(Environment(), "http", "a.com"), "http://web:1");
  EXPECT_EQ(ProxyFor(Environment(), "https", "a.com"), "http://secure:2");
  EXPECT_EQ(ProxyFor({}, "http", "a.com"), "");
}

TEST(ProxyRulesTest, TheOptionGoesBeforeTheEnvironment) {
  ProxySettings settings = Environment();
  settings.proxy = "http://mine:3";
  EXPECT_EQ(ProxyFor(settings, "https", "a.com"), "http://mine:3");
  settings.proxy = "none";
  EXPECT_EQ(ProxyFor(settings, "https", "a.com"), "");
}

TEST(ProxyRulesTest, LinkLocalAddressesAreReachedDirectly) {
  ProxySettings settings;
  settings.proxy = "http://mine:3";
  for (const char* host : {"169.254.169.254", "100.100.100.200", "fe80::1", "fd00:ec2::254"}) {
    EXPECT_EQ(ProxyFor(settings, "http", host), "") << host;
  }
}

TEST(ProxyRulesTest, LoopbackNeedsAnExplicitProxy) {
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost", "b.localhost"}) {
    EXPECT_EQ(ProxyFor(Environment(), "http", host), "") << host;
    EXPECT_EQ(ProxyFor({.proxy = "http://mine:3"}, "http", host), "http://mine:3") << host;
  }
}

TEST(ProxyRulesTest, ExceptionsCoverWhatTheySay) {
  const auto direct = [](const char* list, const char* host) {
    return ProxyFor(Environment(list), "http", host).empty();
  };
  EXPECT_TRUE(direct("*", "a.com"));
  EXPECT_TRUE(direct("a.com", "a.com"));
  EXPECT_TRUE(direct("a.com", "b.A.com"));
  EXPECT_TRUE(direct(".a.com", "a.com"));
  EXPECT_TRUE(direct("*.a.com", "b.a.com"));
  EXPECT_TRUE(direct("x.com, a.com:443", "a.com"));
  EXPECT_TRUE(direct("10.1.2.3", "10.1.2.3"));
  EXPECT_TRUE(direct("10.0.0.0/8", "10.1.2.3"));
  EXPECT_TRUE(direct("10.1.2.0/23", "10.1.3.255"));
  EXPECT_TRUE(direct("2001:db8::/32", "2001:db8::5"));
  EXPECT_TRUE(direct("[2001:db8::5]:80", "2001:db8::5"));
  EXPECT_TRUE(direct("0.0.0.0/0", "8.8.8.8"));
  EXPECT_FALSE(direct("a.com", "ba.com"));
  EXPECT_FALSE(direct("b.a.com", "a.com"));
  EXPECT_FALSE(direct("10.1.2.0/23", "10.1.4.0"));
  EXPECT_FALSE(direct("10.0.0.0/8", "2001:db8::5"));
  EXPECT_FALSE(direct("10.0.0.0/99", "10.1.2.3"));
  EXPECT_FALSE(direct("10.0.0.0/x", "10.1.2.3"));
  EXPECT_FALSE(direct(",. ,", "a.com"));
}

TEST(ProxyRulesTest, TheOptionsExceptionsReplaceTheEnvironments) {
  ProxySettings settings = Environment("a.com");
  settings.no_proxy = "b.com";
  EXPECT_EQ(ProxyFor(settings, "http", "b.com"), "");
  EXPECT_EQ(ProxyFor(settings, "http", "a.com"), "http://web:1");
}

TEST(ProxyRulesTest, DescriptionsHoldNoPassword) {
  EXPECT_EQ(DescribeProxy("http://user:p@ss@host:3128"), "http://host:3128");
  EXPECT_EQ(DescribeProxy("user:pass@host"), "host");
  EXPECT_EQ(DescribeProxy("socks5://host:1"), "socks5://host:1");
}

TEST(LatestProxyTest, AnswersAsProxyFor) {
  ProxySettings settings;
  settings.env_http_proxy = "http://p:1";
  settings.env_https_proxy = "http://q:1";
  settings.env_no_proxy = "direct";
  LatestProxy latest;
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(latest.For(settings, "http", "a"), "http://p:1");
    EXPECT_EQ(latest.For(settings, "http", "a"), "http://p:1");
    EXPECT_EQ(latest.For(settings, "https", "a"), "http://q:1");
    EXPECT_EQ(latest.For(settings, "https", "direct"), "");
  }
}

}  // namespace
}  // namespace bucketvol
