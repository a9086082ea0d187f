#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bucketvol::testing {

/// A real `bucketd` beside the test, on a free port of the loopback address. Needs BUCKETVOL_BIN in the
/// environment (ctest sets it). A server that does not start ends the test program with the server's own
/// words.
///
///   BucketdProcess server({"--synthetic", "b:keys=1000", "--profile", "zero"});
///   ... server.url() ...
///   server.Config("fault=op=GET,kind=503,count=2");
///   EXPECT_EQ(server.Count("GET"), 5);
class BucketdProcess {
 public:
  /// `--listen 127.0.0.1:0` is put before `arguments`; a later --listen overrides it.
  explicit BucketdProcess(const std::vector<std::string>& arguments);
  /// Ends the server by SIGTERM, and waits for it.
  ~BucketdProcess();
  BucketdProcess(const BucketdProcess&) = delete;
  BucketdProcess& operator=(const BucketdProcess&) = delete;

  /// "http://127.0.0.1:PORT", without a slash at the end.
  const std::string& url() const { return url_; }
  int port() const { return port_; }
  int pid() const { return pid_; }

  // The admin calls, over plain HTTP or TLS as the server was started. A refusal ends the test program.
  /// The JSON of GET /-/stats.
  std::string Stats() const;
  /// A number out of Stats(): a top-level name ("bytes_out") or an operation of "requests" ("LIST").
  int64_t Count(absl::string_view name) const;
  void Reset() const;
  /// The JSON array of the last `count` requests, a line each.
  std::string Log(int count = 100) const;
  /// Lines of flag=value, such as "fault=none" or "profile=oss".
  void Config(absl::string_view lines) const;

  /// Stops the server now, by `signal` (SIGTERM, SIGKILL), and waits for its end.
  void Stop(int signal);

 private:
  std::string Call(absl::string_view method, absl::string_view target, absl::string_view body) const;

  int pid_ = -1;
  int output_ = -1;  // The server's standard output.
  std::string host_;
  int port_ = 0;
  bool tls_ = false;
  std::string url_;
};

}  // namespace bucketvol::testing
