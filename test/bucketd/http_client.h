#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "mounter/base/unique_fd.h"

namespace bucketvol::bucketd {

/// One answer, as far as it came.
struct HttpAnswer {
  int status = 0;                              // 0: no whole head came.
  std::map<std::string, std::string> headers;  // Names in lower case.
  std::string body;
  bool complete = false;  // All of Content-Length came.
  bool reset = false;     // The connection was reset.

  std::string Header(const std::string& lower_name) const {
    const auto found = headers.find(lower_name);
    return found == headers.end() ? "" : found->second;
  }
};

using HeaderList = std::vector<std::pair<std::string, std::string>>;

/// A plain blocking client over one connection to 127.0.0.1, for tests that must see every byte.
class HttpClient {
 public:
  explicit HttpClient(int port);

  HttpAnswer Do(absl::string_view method, absl::string_view target, const HeaderList& headers = {},
                absl::string_view body = "");
  HttpAnswer Get(absl::string_view target, const HeaderList& headers = {}) {
    return Do("GET", target, headers);
  }

  void Send(absl::string_view bytes);
  /// Reads one answer; `without_body` for HEAD.
  HttpAnswer Receive(bool without_body = false);
  /// True if bytes (or the end) are there to be read now.
  bool HasInput() const;

 private:
  bool Fill();

  UniqueFd fd_;
  std::string input_;
  bool reset_ = false;
};

}  // namespace bucketvol::bucketd
