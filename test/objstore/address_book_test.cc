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
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  const bool is_v4 = inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1;
  EXPECT_TRUE(is_v4 || inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1);
  SocketAddress address = is_v4 ? SocketAddress::Of(reinterpret_cast<sockaddr*>(&v4), sizeof(v4))
                                : SocketAddress::Of(reinterpret_cast<sockaddr*>(&v6), sizeof(v6));
  address.SetPort(port);
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

TEST_F(AddressBookTest, TheSystemKnowsAddresses) {
  const std::vector<SocketAddress> addresses = AddressBook::ResolveBySystem("127.0.0.1");
  ASSERT_EQ(addresses.size(), 1u);
  EXPECT_EQ(Text(addresses[0]), "127.0.0.1");
  EXPECT_TRUE(AddressBook::ResolveBySystem("no such host").empty());
}

}  // namespace
}  // namespace bucketvol
