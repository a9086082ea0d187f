#include "mounter/objstore/digest.h"

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace bucketvol {
namespace {

TEST(DigestTest, Sha256) {
  EXPECT_EQ(Hex(AsBytes(Sha256(""))), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex(AsBytes(Sha256("abc"))), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// RFC 4231, cases 2 and 6: keys shorter and longer than a block.
TEST(DigestTest, HmacSha256) {
  EXPECT_EQ(Hex(AsBytes(HmacSha256("Jefe", "what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(Hex(AsBytes(HmacSha256(std::string(131, '\xaa'),
                                   "Test Using Larger Than Block-Size Key - Hash Key First"))),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

// RFC 2202, cases 2 and 6.
TEST(DigestTest, HmacSha1) {
  EXPECT_EQ(Hex(AsBytes(HmacSha1("Jefe", "what do ya want for nothing?"))),
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
  EXPECT_EQ(Hex(AsBytes(
                HmacSha1(std::string(80, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"))),
            "aa4ae5e15272d00e95705637ce8a3b55ed402112");
}

TEST(DigestTest, ThreadsDoNotDisturbEachOther) {
  const std::string long_text(100'000, 'x');
  const Sha256Digest expected = Sha256(long_text);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) EXPECT_EQ(Sha256(long_text), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace bucketvol
