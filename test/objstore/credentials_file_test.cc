#include "mounter/objstore/credentials_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "mounter/base/file.h"
#include "test/support/fake_clock.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

using ::bucketvol::testing::FakeClock;
using ::bucketvol::testing::TempDir;

/// A password file that is rewritten under a provider, on a clock of its own.
class FileCredentialsTest : public ::testing::Test {
 protected:
  /// Writes a file that is `age` old.
  void Write(const std::string& name, const std::string& content, absl::Duration age = absl::Minutes(1)) {
    const int fd = open((dir_ / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    EXPECT_OK(WriteAllAt(fd, content, 0, name));
    const timespec time = absl::ToTimespec(clock_.WallNow() - age);
    const timespec times[] = {time, time};
    EXPECT_EQ(futimens(fd, times), 0);
    close(fd);
  }
  FileCredentials Provider() {
    return FileCredentials({CredentialFormat::kPasswd, dir_ / "pw", "b"}, Keys("initial"), clock_);
  }
  static Credentials Keys(const std::string& id) { return {id, Secret("secret"), Secret()}; }
  static std::string IdOf(FileCredentials& provider) { return provider.Get()->access_key_id; }

  TempDir dir_;
  FakeClock clock_;
};

TEST_F(FileCredentialsTest, ReadsAChangedFileWithinTenSeconds) {
  Write("pw", "one:secret");
  FileCredentials provider = Provider();
  EXPECT_EQ(IdOf(provider), "one");
  Write("pw", "two:secret");
  clock_.Advance(absl::Seconds(9));
  EXPECT_EQ(IdOf(provider), "one");
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(IdOf(provider), "two");
}

TEST_F(FileCredentialsTest, UsesTheInitialOnesWhereTheFileCannotBeRead) {
  FileCredentials provider = Provider();
  EXPECT_EQ(IdOf(provider), "initial");
  Write("pw", "one:secret");
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(IdOf(provider), "one");
}

TEST_F(FileCredentialsTest, KeepsTheOldOnesWhileTheFileIsWrongOrGone) {
  Write("pw", "one:secret");
  FileCredentials provider = Provider();
  EXPECT_EQ(IdOf(provider), "one");
  for (const char* content : {"", "two", "two:", "two:sec ret"}) {
    Write("pw", content);
    clock_.Advance(absl::Seconds(10));
    EXPECT_EQ(IdOf(provider), "one") << content;
  }
  unlink((dir_ / "pw").c_str());
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(IdOf(provider), "one");
  Write("pw", "two:secret");
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(IdOf(provider), "two");
}

TEST_F(FileCredentialsTest, AFileThatMayBeHalfWrittenIsLeftAloneForASecond) {
  Write("pw", "one:secret");
  FileCredentials provider = Provider();
  EXPECT_EQ(IdOf(provider), "one");
  clock_.Advance(absl::Seconds(10));
  Write("pw", "two:sec", absl::ZeroDuration());  // "two:secret" follows.
  EXPECT_EQ(IdOf(provider), "one");
  Write("pw", "two:secret", absl::ZeroDuration());
  clock_.Advance(absl::Seconds(1));
  EXPECT_EQ(provider.Get()->access_key_secret, Secret("secret"));
  EXPECT_EQ(IdOf(provider), "two");
}

TEST_F(FileCredentialsTest, ATimeInTheFutureDoesNotHideAChange) {
  Write("pw", "one:secret");
  FileCredentials provider = Provider();
  EXPECT_EQ(IdOf(provider), "one");
  Write("pw", "two:secret", -absl::Hours(1));
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(IdOf(provider), "two");
}

TEST_F(FileCredentialsTest, NoticesASymlinkSwap) {
  Write("v1", "one:secret");
  Write("v2", "two:secret");
  ASSERT_EQ(symlink("v1", (dir_ / "pw").c_str()), 0);
  FileCredentials provider = Provider();
  EXPECT_EQ(IdOf(provider), "one");
  ASSERT_EQ(symlink("v2", (dir_ / "pw.new").c_str()), 0);
  ASSERT_EQ(rename((dir_ / "pw.new").c_str(), (dir_ / "pw").c_str()), 0);
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(IdOf(provider), "two");
}

TEST_F(FileCredentialsTest, RejectReadsAtOnceEvenAYoungFile) {
  Write("pw", "one:secret");
  FileCredentials provider = Provider();
  EXPECT_EQ(IdOf(provider), "one");
  Write("pw", "two:secret", absl::ZeroDuration());
  provider.Reject(Keys("one"));
  EXPECT_EQ(IdOf(provider), "two");
}

TEST_F(FileCredentialsTest, RejectOfAnUnchangedFileGivesTheSameAgain) {
  Write("pw", "one:secret");
  FileCredentials provider = Provider();
  EXPECT_EQ(IdOf(provider), "one");
  provider.Reject(Keys("one"));
  EXPECT_EQ(*provider.Get(), Keys("one"));
}

TEST_F(FileCredentialsTest, RejectOfOlderCredentialsReadsNothing) {
  Write("pw", "one:secret");
  FileCredentials provider = Provider();
  EXPECT_EQ(IdOf(provider), "one");
  Write("pw", "two:secret");
  provider.Reject(Keys("zero"));
  EXPECT_EQ(IdOf(provider), "one");
}

TEST_F(FileCredentialsTest, ATokenDirectoryIsReadWhenTheIdChanges) {
  Write("AccessKeyId", "one");
  Write("AccessKeySecret", "secret-one");
  Write("SecurityToken", "token-one");
  FileCredentials provider({CredentialFormat::kTokenDirectory, dir_.path(), ""}, Keys("initial"), clock_);
  EXPECT_EQ(IdOf(provider), "one");
  Write("AccessKeySecret", "secret-two");
  Write("SecurityToken", "token-two");
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(provider.Get()->access_key_secret, Secret("secret-one"));
  Write("AccessKeyId", "two");
  clock_.Advance(absl::Seconds(10));
  EXPECT_EQ(*provider.Get(), (Credentials{"two", Secret("secret-two"), Secret("token-two")}));
}

TEST_F(FileCredentialsTest, ManyThreadsSeeWholeCredentials) {
  Write("pw", "one:one");
  FileCredentials provider = Provider();
  ASSERT_EQ(IdOf(provider), "one");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        const Credentials keys = *provider.Get();
        EXPECT_EQ(keys.access_key_id, keys.access_key_secret.Reveal());
        if (n % 10 == 0) provider.Reject(keys);
      }
    });
  }
  for (int n = 0; n < 50; ++n) {
    EXPECT_OK(WriteFileAtomically(dir_ / "pw", n % 2 == 0 ? "two:two" : "one:one"));
    clock_.Advance(absl::Seconds(10));
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(MakeCredentialProviderTest, ReadsFilesAgainAndKeepsFixedOnes) {
  TempDir dir;
  FakeClock clock;
  ASSERT_OK(WriteFileAtomically(dir / "pw", "id:new"));
  CredentialSource source;
  source.values = {"id", Secret("old"), Secret()};
  EXPECT_EQ(MakeCredentialProvider(source, clock)->Get()->access_key_secret, Secret("old"));
  source.file = CredentialFile{CredentialFormat::kPasswd, dir / "pw", "b"};
  const auto provider = MakeCredentialProvider(source, clock);
  provider->Reject(source.values);
  EXPECT_EQ(provider->Get()->access_key_secret, Secret("new"));
}

}  // namespace
}  // namespace bucketvol
