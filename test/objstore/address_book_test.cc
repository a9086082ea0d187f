#include "mounter/objstore/address_book.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

SocketAddress Address(const std::string& text, uint16_t port = 0) {
  const SocketAddress address = SocketAddress::Parse(text.c_str(), port);
  EXPECT_TRUE(address.known());
  return address;
}

std::string Text(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const bool is_v4 = address.family() == AF_INET;
  const void* const host =
      is_v4 ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(address.storage).sin_addr)
            : &reinterpret_cast<const sockaddr_in6&>(address.storage).sin6_addr;
  inet_ntop(address.family(), host, text, sizeof(text));
  return text;
}

class AddressBookTest : public ::testing::Test {
 protected:
  AddressBookTest() : addresses_{Address("10.0.0.1"), Address("10.0.0.2")} {}

  // Lets the resolver answer.
  void Resolve() {
    for (const std::function<void()>& task : std::exchange(tasks_, {})) task();
  }
  std::map<std::string, int> Connect(const SocketAddress& offered, int count) {
    std::map<std::string, int> connections;
    for (int i = 0; i < count; ++i) ++connections[Text(book_.InTurn("h", offered))];
    return connections;
  }

  testing::VirtualTime time_;
  std::vector<SocketAddress> addresses_;
  std::vector<std::function<void()>> tasks_;
  AddressBook book_{time_, [this](const std::string&) { return addresses_; },
                    [this](std::function<void()> task) { tasks_.push_back(std::move(task)); }};
};

TEST_F(AddressBookTest, TakesWhatIsOfferedWhileNothingIsKnown) {
  EXPECT_EQ(Connect(Address("10.0.0.1", 80), 10), (std::map<std::string, int>{{"10.0.0.1", 10}}));
  EXPECT_EQ(tasks_.size(), 1u);  // The resolver is asked once.
}

TEST_F(AddressBookTest, SpreadsConnectionsOverTheAddressesOfTheFamily) {
  addresses_ = {Address("10.0.0.1"), Address("fd00::1"), Address("10.0.0.2"), Address("10.0.0.3"),
                Address("fd00::2")};
  Connect(Address("10.0.0.1"), 1);
  Resolve();
  EXPECT_EQ(Connect(Address("10.0.0.1", 8080), 30),
            (std::map<std::string, int>{{"10.0.0.1", 10}, {"10.0.0.2", 10}, {"10.0.0.3", 10}}));
  EXPECT_EQ(Connect(Address("fd00::2", 443), 10),
            (std::map<std::string, int>{{"fd00::1", 5}, {"fd00::2", 5}}));
  EXPECT_EQ(book_.InTurn("h", Address("10.0.0.1", 8080)).port(), 8080);
}

TEST_F(AddressBookTest, AnAddressThatIsNotTheHostsIsLeftAlone) {
  Connect(Address("10.0.0.1"), 1);
  Resolve();
  EXPECT_EQ(Connect(Address("10.9.9.9"), 5), (std::map<std::string, int>{{"10.9.9.9", 5}}));
}

TEST_F(AddressBookTest, FollowsTheResolver) {
  Connect(Address("10.0.0.1"), 1);
  Resolve();
  addresses_ = {Address("10.0.0.2"), Address("10.0.0.7")};
  time_.Advance(absl::Seconds(61));
  Connect(Address("10.0.0.2"), 1);
  Resolve();
  EXPECT_EQ(Connect(Address("10.0.0.2"), 10), (std::map<std::string, int>{{"10.0.0.2", 5}, {"10.0.0.7", 5}}));
}

TEST_F(AddressBookTest, KeepsWhatItKnowsWhenTheResolverFails) {
  Connect(Address("10.0.0.1"), 1);
  Resolve();
  addresses_.clear();
  time_.Advance(absl::Seconds(61));
  Connect(Address("10.0.0.1"), 1);
  Resolve();
  EXPECT_EQ(Connect(Address("10.0.0.1"), 10).size(), 2u);
}

TEST_F(AddressBookTest, TextIsParsed) {
  EXPECT_EQ(Text(Address("10.0.0.1", 80)), "10.0.0.1");
  EXPECT_EQ(Text(Address("fd00::1", 80)), "fd00::1");
  EXPECT_EQ(Address("fd00::1", 80).port(), 80);
  EXPECT_FALSE(SocketAddress::Parse("h", 80).known());
}

TEST_F(AddressBookTest, KeysTellHostsAndPortsApart) {
  EXPECT_EQ(Address("10.0.0.1", 80).Key(), Address("10.0.0.1", 80).Key());
  EXPECT_NE(Address("10.0.0.1", 80).Key(), Address("10.0.0.1", 81).Key());
  EXPECT_NE(Address("10.0.0.1", 80).Key(), Address("10.0.0.2", 80).Key());
  EXPECT_NE(Address("fd00::1", 80).Key(), Address("fd00::2", 80).Key());
}

// --- Addresses in trouble ---

class AddressInTroubleTest : public AddressBookTest {
 protected:
  AddressInTroubleTest() {
    addresses_.push_back(Address("10.0.0.3"));
    Connect(one_, 1);
    Resolve();
  }
  using Counts = std::map<std::string, int>;

  const SocketAddress one_ = Address("10.0.0.1", 80);
  const SocketAddress two_ = Address("10.0.0.2", 80);
  const SocketAddress three_ = Address("10.0.0.3", 80);
};

TEST_F(AddressInTroubleTest, ItsShareGoesToTheOthers) {
  book_.OnFailure(three_);
  EXPECT_EQ(Connect(one_, 30), (Counts{{"10.0.0.1", 15}, {"10.0.0.2", 15}}));
  EXPECT_EQ(Connect(three_, 2), (Counts{{"10.0.0.1", 1}, {"10.0.0.2", 1}}));
}

TEST_F(AddressInTroubleTest, OneConnectionProbesItNowAndThen) {
  book_.OnFailure(three_);
  for (const int pause : {1, 2, 4, 8, 16, 32, 64, 64, 64}) {
    time_.Advance(absl::Seconds(pause) - absl::Milliseconds(1));
    EXPECT_EQ(Connect(one_, 30).count("10.0.0.3"), 0u) << pause;
    time_.Advance(absl::Milliseconds(1));
    EXPECT_EQ(Connect(one_, 30)["10.0.0.3"], 1) << pause;
    book_.OnFailure(three_);
  }
}

TEST_F(AddressInTroubleTest, ItIsBackWhenItAnswers) {
  book_.OnFailure(three_);
  time_.Advance(absl::Seconds(1));
  book_.OnBytes(three_, absl::ZeroDuration());  // Over a connection from before: it may be about to end.
  EXPECT_EQ(Connect(one_, 31)["10.0.0.3"], 1);
  book_.OnBytes(three_, time_.Elapsed());
  EXPECT_EQ(Connect(one_, 30), (Counts{{"10.0.0.1", 10}, {"10.0.0.2", 10}, {"10.0.0.3", 10}}));
}

TEST_F(AddressInTroubleTest, AllAreTriedWhenAllAre) {
  for (const SocketAddress& each : {one_, two_, three_}) book_.OnFailure(each);
  EXPECT_EQ(Connect(one_, 30), (Counts{{"10.0.0.1", 10}, {"10.0.0.2", 10}, {"10.0.0.3", 10}}));
  EXPECT_TRUE(book_.IsGood("h", one_));
}

TEST_F(AddressInTroubleTest, ASecondOfSilenceIsTrouble) {
  time_.Advance(absl::Milliseconds(999));
  book_.OnSilence(three_, absl::ZeroDuration());
  EXPECT_TRUE(book_.IsGood("h", three_));
  time_.Advance(absl::Seconds(10));
  book_.OnSilence(three_, time_.Elapsed() - absl::Milliseconds(1));
  EXPECT_FALSE(book_.IsGood("h", three_));
  EXPECT_EQ(Connect(one_, 30).count("10.0.0.3"), 0u);
}

TEST_F(AddressInTroubleTest, SilencesAtTheSameTimeCountOnce) {
  time_.Advance(absl::Milliseconds(100));
  for (int i = 0; i < 100; ++i) book_.OnSilence(three_, absl::ZeroDuration());
  EXPECT_TRUE(book_.IsGood("h", three_));
}

TEST_F(AddressInTroubleTest, BytesEndTheSilence) {
  for (int i = 0; i < 10; ++i) {
    time_.Advance(absl::Milliseconds(900));
    book_.OnSilence(three_, time_.Elapsed() - absl::Milliseconds(900));
    book_.OnBytes(three_, absl::ZeroDuration());
  }
  EXPECT_TRUE(book_.IsGood("h", three_));
}

TEST_F(AddressInTroubleTest, WhatFailedGoesElsewhere) {
  for (int i = 0; i < 10; ++i) EXPECT_NE(Text(book_.InTurn("h", one_, two_.Key())), "10.0.0.2");
  EXPECT_FALSE(book_.IsGood("h", two_, two_.Key()));
  EXPECT_TRUE(book_.IsGood("h", two_, one_.Key()));
  book_.OnFailure(one_);
  book_.OnFailure(three_);
  EXPECT_EQ(Text(book_.InTurn("h", one_, two_.Key())), "10.0.0.2");  // The only one that works.
  EXPECT_TRUE(book_.IsGood("h", two_, two_.Key()));
  time_.Advance(absl::Seconds(5));
  EXPECT_EQ(Text(book_.InTurn("h", one_, two_.Key())), "10.0.0.2");  // It does not probe.
}

TEST_F(AddressInTroubleTest, TheResolverIsAskedSoon) {
  book_.OnFailure(three_);
  time_.Advance(absl::Seconds(5));
  Connect(one_, 10);
  EXPECT_EQ(tasks_.size(), 1u);
}

TEST_F(AddressInTroubleTest, OneAloneIsUsedAllTheSame) {
  addresses_ = {Address("10.0.0.1")};
  time_.Advance(absl::Seconds(61));
  Connect(one_, 1);
  Resolve();
  book_.OnFailure(one_);
  EXPECT_EQ(Connect(one_, 10), (Counts{{"10.0.0.1", 10}}));
  EXPECT_TRUE(book_.IsGood("h", one_, one_.Key()));
  EXPECT_FALSE(book_.HasSeveral("h"));
}

TEST_F(AddressBookTest, TheSystemKnowsAddresses) {
  const std::vector<SocketAddress> addresses = AddressBook::ResolveBySystem("127.0.0.1");
  ASSERT_EQ(addresses.size(), 1u);
  EXPECT_EQ(Text(addresses[0]), "127.0.0.1");
  EXPECT_TRUE(AddressBook::ResolveBySystem("no such host").empty());
}

}  // namespace
}  // namespace bucketvol
