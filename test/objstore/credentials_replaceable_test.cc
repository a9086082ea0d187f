#include "mounter/objstore/credentials_replaceable.h"

#include <gtest/gtest.h>

namespace bucketvol {
namespace {

class CountingCredentials final : public CredentialProvider {
 public:
  explicit CountingCredentials(std::string id) : id_(std::move(id)) {}
  absl::StatusOr<Credentials> Get() override { return Credentials{id_, Secret("s"), Secret()}; }
  void Reject(const Credentials&) override { ++rejected; }
  int rejected = 0;

 private:
  const std::string id_;
};

TEST(ReplaceableCredentialsTest, TheNextRequestTakesTheNewOnes) {
  const auto first = std::make_shared<CountingCredentials>("first");
  const auto second = std::make_shared<CountingCredentials>("second");
  ReplaceableCredentials credentials(first);
  EXPECT_EQ(credentials.Get()->access_key_id, "first");
  credentials.Reject({});
  credentials.Replace(second);
  EXPECT_EQ(credentials.Get()->access_key_id, "second");
  credentials.Reject({});
  EXPECT_EQ(first->rejected, 1);
  EXPECT_EQ(second->rejected, 1);
  EXPECT_EQ(first.use_count(), 1);
}

}  // namespace
}  // namespace bucketvol
