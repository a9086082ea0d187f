// The program as users meet it.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/bucketd/http_client.h"
#include "test/bucketd/options.h"
#include "test/support/bucketd_process.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::bucketd {
namespace {

using ::bucketvol::testing::BucketdProcess;
using ::testing::HasSubstr;

struct Finished {
  int exit_code;
  std::string output;
};

Finished RunBucketd(const std::string& arguments) {
  FILE* pipe = popen(absl::StrCat(getenv("BUCKETVOL_BIN"), "/bucketd ", arguments, " 2>&1").c_str(), "r");
  std::string output;
  char buffer[4096];
  for (size_t got; (got = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.append(buffer, got);
  return {WEXITSTATUS(pclose(pipe)), output};
}

TEST(BucketdProgramTest, WrongUsageIsOneLineAndExitTwo) {
  for (const char* arguments :
       {"--colour red", "--listen", "--listen nowhere", "--synthetic b:keys=x", "--fault kind=x",
        "--first-byte soon", "--threads 0", "--access-key k", "--tls-cert f", "stray", "expect b:keys=1"}) {
    const Finished run = RunBucketd(arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments;
    EXPECT_EQ(run.output.rfind("bucketd: ", 0), 0u) << run.output;
    EXPECT_EQ(run.output.find('\n'), run.output.size() - 1) << run.output;
  }
}

TEST(BucketdProgramTest, CannotServeIsExitOne) {
  EXPECT_EQ(RunBucketd("--listen 256.1.1.1:0").exit_code, 1);
  EXPECT_EQ(RunBucketd("--root /dev/null/x").exit_code, 1);
}

TEST(BucketdProgramTest, HelpNamesEveryFlag) {
  const Finished run = RunBucketd("--help");
  EXPECT_EQ(run.exit_code, 0);
  for (const char* flag :
       {"--listen", "--root", "--synthetic", "--access-key", "--secret-key", "--session-token", "--profile",
        "--first-byte", "--per-connection", "--total", "--list-page", "--fault", "--seed", "--threads",
        "--tls-cert", "--tls-key", "--dialect", "--region", "--clock-offset"}) {
    EXPECT_THAT(run.output, HasSubstr(flag));
  }
}

TEST(BucketdProgramTest, ExpectWritesWhatIsServed) {
  const BucketdProcess server({"--synthetic", "b:keys=10,size=5000B"});
  const std::string key = RunBucketd("keys b:keys=10,size=5000B 3 1").output;
  ASSERT_FALSE(key.empty());
  const std::string bare = key.substr(0, key.size() - 1);
  HttpClient client(server.port());
  EXPECT_EQ(client.Get("/b/" + bare).body, RunBucketd("expect b:keys=10,size=5000B " + bare).output);
  EXPECT_EQ(client.Get("/b/" + bare, {{"Range", "bytes=11-40"}}).body,
            RunBucketd("expect b:keys=10,size=5000B " + bare + " 11 30").output);
  EXPECT_EQ(RunBucketd("expect b:keys=10 nokey").exit_code, 1);
  EXPECT_EQ(RunBucketd("expect b:keys=10,size=5000B " + bare + " 4999 2").exit_code, 1);
}

TEST(BucketdProcessTest, AdminHelpersReachTheServer) {
  const BucketdProcess server({"--synthetic", "b:keys=10,size=10B", "--profile", "zero"});
  EXPECT_EQ(server.url(), absl::StrCat("http://127.0.0.1:", server.port()));
  HttpClient client(server.port());
  client.Get("/b/nokey");
  client.Get("/b/?list-type=2");
  EXPECT_EQ(server.Count("GET"), 1);
  EXPECT_EQ(server.Count("LIST"), 1);
  EXPECT_THAT(server.Log(), HasSubstr("nokey"));
  server.Config("fault=op=LIST,kind=500");
  EXPECT_EQ(client.Get("/b/?list-type=2").status, 500);
  server.Reset();
  EXPECT_EQ(server.Count("GET"), 0);
}

TEST(BucketdProcessTest, ObjectsSurviveAKill) {
  const bucketvol::testing::TempDir root;
  {
    BucketdProcess server({"--root", root.path()});
    HttpClient client(server.port());
    ASSERT_EQ(client.Do("PUT", "/bucket").status, 200);
    ASSERT_EQ(client.Do("PUT", "/bucket/a//b", {{"x-amz-meta-k", "v"}}, "data").status, 200);
    server.Stop(SIGKILL);
  }
  const BucketdProcess server({"--root", root.path()});
  const HttpAnswer answer = HttpClient(server.port()).Get("/bucket/a//b");
  EXPECT_EQ(answer.body, "data");
  EXPECT_EQ(answer.Header("x-amz-meta-k"), "v");
}

TEST(BucketdProcessTest, ServesTls) {
  const bucketvol::testing::TempDir dir;
  const std::string command =
      absl::StrCat("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout ",
                   dir / "key", " -out ", dir / "cert", " 2>/dev/null");
  ASSERT_EQ(system(command.c_str()), 0);
  const BucketdProcess server(
      {"--synthetic", "b:keys=10", "--tls-cert", dir / "cert", "--tls-key", dir / "key"});
  EXPECT_EQ(server.url().rfind("https://", 0), 0u);
  EXPECT_EQ(server.Count("GET"), 0);
}

TEST(OptionsTest, FlagsOverrideTheProfileWhateverTheOrder) {
  char* arguments[] = {const_cast<char*>("--first-byte=5ms"), const_cast<char*>("--profile"),
                       const_cast<char*>("oss")};
  const absl::StatusOr<Options> options = ParseOptions(arguments);
  ASSERT_OK(options);
  EXPECT_EQ(options->settings.profile.first_byte, absl::Milliseconds(5));
  EXPECT_EQ(options->settings.profile.list_page, absl::Milliseconds(100));
  EXPECT_EQ(options->settings.profile.per_connection, 50'000'000u);
}

}  // namespace
}  // namespace bucketvol::bucketd
