#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "mounter/objstore/http_object_store.h"
#include "test/objstore/fake_http_transport.h"
#include "test/objstore/recording_sink.h"
#include "test/support/fake_clock.h"
#include "test/support/virtual_time.h"

namespace bucketvol::testing {

inline constexpr char kPage[] =
    "<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a</Key><Size>1</Size></Contents></"
    "ListBucketResult>";

/// Credentials that can be exchanged behind the store's back.
class FakeCredentials final : public CredentialProvider {
 public:
  absl::StatusOr<Credentials> Get() override { return current; }
  void Reject(const Credentials& refused) override {
    ++rejections;
    if (next && *current == refused) current = *next;
  }

  absl::StatusOr<Credentials> current = Credentials{"ak", Secret("very-secret"), Secret()};
  std::optional<Credentials> next;
  int rejections = 0;
};

inline std::string ErrorBody(absl::string_view code, absl::string_view more = "") {
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>", code,
                      "</Code><Message>the words.</Message><RequestId>R1</RequestId>", more, "</Error>");
}

/// A store of one bucket over a fake transport: a test looks at each request and answers it.
class HttpObjectStoreTest : public ::testing::Test {
 protected:
  HttpObjectStoreTest() {
    settings_.endpoint = {"https", "oss-cn-hangzhou.aliyuncs.com", 0};
    settings_.region = "cn-hangzhou";
    settings_.bucket = "bucket";
  }

  void UseS3() {
    settings_.dialect = Dialect::kS3;
    settings_.signature = Signature::kAwsV4;
    settings_.endpoint = {"https", "s3.us-east-1.amazonaws.com", 0};
    settings_.region = "us-east-1";
  }

  HttpObjectStore& store() {
    if (!store_) {
      auto transport = std::make_unique<FakeHttpTransport>();
      transport_ = transport.get();
      store_.emplace(settings_, std::move(transport), credentials_, clock_, executor_, metrics_, &gate_);
    }
    return *store_;
  }
  FakeHttpTransport& transport() { return *transport_; }

  void StartList(ListRequest request = {}) {
    page_.reset();
    store().List(std::move(request), [this](absl::StatusOr<ListPage> page) { page_ = std::move(page); });
  }
  void StartGet(uint64_t begin, uint64_t end, std::string if_match = "E",
                std::optional<uint64_t> size = 1000) {
    sink_.emplace();
    GetRequest request;
    request.key = "dir/a b";
    request.range = {begin, end};
    request.if_match = std::move(if_match);
    request.object_size = size;
    store().Get(std::move(request), &*sink_);
  }
  void StartHead() {
    info_.reset();
    store().Head("k", [this](absl::StatusOr<ObjectInfo> info) { info_ = std::move(info); });
  }

  BucketSettings settings_;
  FakeCredentials credentials_;
  FakeClock clock_{absl::FromUnixSeconds(1702743657)};
  VirtualTime executor_;
  StoreMetrics metrics_;
  RequestGate gate_{0, clock_, metrics_};
  std::optional<absl::StatusOr<ListPage>> page_;
  std::optional<absl::StatusOr<ObjectInfo>> info_;
  std::optional<RecordingSink> sink_;

 private:
  FakeHttpTransport* transport_ = nullptr;
  std::optional<HttpObjectStore> store_;
};

inline FakeAnswer Part(absl::string_view range, std::vector<std::string> body,
                       absl::string_view etag = "\"E\"") {
  size_t length = 0;
  for (const std::string& piece : body) length += piece.size();
  return {.status = 206,
          .headers = {absl::StrCat("Content-Range: bytes ", range), absl::StrCat("ETag: ", etag),
                      absl::StrCat("Content-Length: ", length)},
          .body = std::move(body)};
}

}  // namespace bucketvol::testing
