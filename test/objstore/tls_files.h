#pragma once

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {

/// A certificate that vouches for itself, for 127.0.0.1 and localhost, made anew for each test.
class TlsFiles {
 public:
  TlsFiles() {
    const std::string command = absl::StrCat(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test "
        "-addext subjectAltName=IP:127.0.0.1,DNS:localhost -keyout ",
        key_, " -out ", certificate_, " 2>", directory_ / "log");
    if (std::system(command.c_str()) != 0) abort();
  }

  const std::string& certificate() const { return certificate_; }
  /// What tells bucketd to speak TLS.
  std::vector<std::string> ServerFlags() const { return {"--tls-cert", certificate_, "--tls-key", key_}; }
  /// A file of the same directory that does not exist.
  std::string absent() const { return directory_ / "absent.pem"; }

 private:
  const TempDir directory_;
  const std::string key_ = directory_ / "key.pem", certificate_ = directory_ / "cert.pem";
};

}  // namespace bucketvol::testing
