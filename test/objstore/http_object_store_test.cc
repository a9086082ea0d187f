#include "test/objstore/http_object_store_fixture.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using testing::ErrorBody;
using testing::FakeAnswer;
using ::testing::HasSubstr;
using testing::HttpObjectStoreTest;
using testing::kPage;
using ::testing::Not;
using testing::Part;
using ::testing::StartsWith;
using testing::StatusIs;

// --- What is asked ---

TEST_F(HttpObjectStoreTest, ListsWithVersionTwo) {
  ListRequest request;
  request.prefix = "p q/";
  request.start_after = "p q/\xC3\xA9";
  request.delimiter = "/";
  request.max_keys = 7;
  request.deadline = absl::Seconds(3);
  StartList(request);
  EXPECT_EQ(
      transport().request().url,
      "https://bucket.oss-cn-hangzhou.aliyuncs.com/?delimiter=%2F&encoding-type=url&list-type=2&max-keys=7&"
      "prefix=p%20q%2F&start-after=p%20q%2F%C3%A9");
  EXPECT_EQ(transport().request().deadline, absl::Seconds(3));
  EXPECT_THAT(transport().Header("authorization"),
              StartsWith("OSS4-HMAC-SHA256 Credential=ak/20231216/cn-hangzhou/oss/"));
}

TEST_F(HttpObjectStoreTest, ATokenTakesThePlaceOfStartAfter) {
  ListRequest request;
  request.start_after = "x";
  request.continuation_token = "t+/=";
  StartList(request);
  EXPECT_THAT(transport().request().url, HasSubstr("continuation-token=t%2B%2F%3D"));
  EXPECT_THAT(transport().request().url, Not(HasSubstr("start-after")));
}

TEST_F(HttpObjectStoreTest, ListsWithVersionOne) {
  settings_.list_version = ListVersion::kV1;
  settings_.signature = Signature::kOssV1;
  ListRequest request;
  request.start_after = "x";
  StartList(request);
  EXPECT_EQ(transport().request().url,
            "https://bucket.oss-cn-hangzhou.aliyuncs.com/?encoding-type=url&marker=x&max-keys=1000");
  EXPECT_THAT(transport().Header("authorization"), StartsWith("OSS ak:"));
  transport().Answer({.body = {kPage}});
  ASSERT_OK(*page_);
  EXPECT_EQ((*page_)->next_token, "a");  // Without a delimiter there is no NextMarker: the last key is.
}

TEST_F(HttpObjectStoreTest, ReadsRangesOfOneVersion) {
  StartGet(10, 20);
  EXPECT_EQ(transport().request().url, "https://bucket.oss-cn-hangzhou.aliyuncs.com/dir/a%20b");
  EXPECT_EQ(transport().Header("range"), "bytes=10-19");
  EXPECT_EQ(transport().Header("if-match"), "\"E\"");
  EXPECT_EQ(transport().Header("x-oss-range-behavior"), "standard");
}

TEST_F(HttpObjectStoreTest, S3SpeaksItsOwnWords) {
  UseS3();
  StartGet(0, 10, "");
  EXPECT_EQ(transport().request().url, "https://bucket.s3.us-east-1.amazonaws.com/dir/a%20b");
  EXPECT_EQ(transport().Header("if-match"), "");
  EXPECT_EQ(transport().Header("x-oss-range-behavior"), "");
  EXPECT_THAT(transport().Header("authorization"),
              HasSubstr("SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,"));
}

TEST_F(HttpObjectStoreTest, IpAddressesMeanPathStyle) {
  settings_.endpoint = {"http", "127.0.0.1", 9000};
  StartHead();
  EXPECT_EQ(transport().request().url, "http://127.0.0.1:9000/bucket/k");
  EXPECT_EQ(transport().request().method, HttpMethod::kHead);
}

TEST_F(HttpObjectStoreTest, AnonymousRequestsAreNotSigned) {
  credentials_.current = Credentials{};
  StartHead();
  EXPECT_EQ(transport().Header("authorization"), "");
}

TEST_F(HttpObjectStoreTest, MissingCredentialsAreReportedNotInsideTheCall) {
  credentials_.current = absl::UnauthenticatedError("half a key pair");
  StartHead();
  EXPECT_FALSE(info_.has_value());
  executor_.RunUntilIdle();
  EXPECT_THAT(*info_,
              StatusIs(absl::StatusCode::kUnauthenticated, "cannot look up oss://bucket/k: half a key pair"));
}

// --- Good answers ---

TEST_F(HttpObjectStoreTest, GivesTheBytesOfARange) {
  StartGet(10, 20);
  transport().Answer(Part("10-19/1000", {"01234", "56789"}));
  EXPECT_OK(sink_->status());
  EXPECT_EQ(sink_->data(), "0123456789");
  EXPECT_EQ(sink_->version(), "E");
}

TEST_F(HttpObjectStoreTest, TakesAWholeObjectFor200) {
  StartGet(0, 4, "e", 4);  // The case of ETags does not count.
  transport().Answer({.status = 200, .headers = {"ETag: \"E\"", "Content-Length: 4"}, .body = {"abcd"}});
  EXPECT_OK(sink_->status());
  EXPECT_EQ(sink_->data(), "abcd");
}

TEST_F(HttpObjectStoreTest, GivesPagesInPieces) {
  for (const bool length_known : {true, false}) {
    StartList();
    FakeAnswer answer;
    if (length_known) answer.headers = {absl::StrCat("content-length: ", sizeof(kPage) - 1)};
    for (const char c : std::string(kPage)) answer.body.push_back(std::string(1, c));
    transport().Answer(answer);
    ASSERT_OK(*page_);
    EXPECT_EQ((*page_)->objects.size(), 1u);
    EXPECT_EQ((*page_)->body_bytes, sizeof(kPage) - 1);
  }
}

TEST_F(HttpObjectStoreTest, NotesThatTheServiceHeldARequestBack) {
  for (const char* delay : {"0", "", "x"}) {
    StartGet(0, 4);
    transport().Answer({.status = 206,
                        .headers = {"Content-Range: bytes 0-3/1000", "ETag: \"E\"",
                                    absl::StrCat("x-oss-qos-delay-time: ", delay)},
                        .body = {"0123"}});
    EXPECT_OK(sink_->status());
  }
  EXPECT_EQ(metrics_.congestion[static_cast<int>(Congestion::kHeldBack)], 0u);
  StartGet(0, 4);
  transport().Answer(
      {.status = 206,
       .headers = {"Content-Range: bytes 0-3/1000", "ETag: \"E\"", "x-oss-qos-delay-time: 120"},
       .body = {"0123"}});
  EXPECT_OK(sink_->status());
  EXPECT_EQ(metrics_.congestion[static_cast<int>(Congestion::kHeldBack)], 1u);
}

TEST_F(HttpObjectStoreTest, TellsAboutAnObject) {
  StartHead();
  transport().Answer(
      {.headers = {"ETag: \"E\"", "Content-Length: 7", "Last-Modified: Wed, 28 Dec 2022 10:27:41 GMT"}});
  ASSERT_OK(*info_);
  EXPECT_EQ((*info_)->etag, "E");
  EXPECT_EQ((*info_)->size, 7u);
  EXPECT_EQ((*info_)->modified_ms, 1672223261000);
}

// --- Ends ---

TEST_F(HttpObjectStoreTest, ShutdownEndsWhatIsInFlight) {
  StartGet(10, 20);
  StartList();
  store().Shutdown();
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kCancelled, ::testing::_));
}

TEST_F(HttpObjectStoreTest, NoMessageHoldsASecret) {
  credentials_.current = Credentials{"ak", Secret("very-secret"), Secret("the-token")};
  StartList();
  transport().Answer(
      {.status = 403,
       .body = {ErrorBody("SignatureDoesNotMatch", "<StringToSign>the-token</StringToSign>")}});
  EXPECT_THAT(page_->status().ToString(), Not(HasSubstr("very-secret")));
  EXPECT_THAT(page_->status().ToString(), Not(HasSubstr("the-token")));
}

// --- What counts ---

TEST_F(HttpObjectStoreTest, WhatWasSentCounts) {
  StartList();
  StartGet(0, 2);
  StartHead();
  EXPECT_EQ(metrics_.Requests(StoreOperation::kList), 0u);
  transport().Answer({.body = {kPage}});
  transport().Answer(Part("0-1/1000", {"ab"}));
  transport().Answer({.headers = {"Content-Length: 1"}});
  for (const StoreOperation each : {StoreOperation::kList, StoreOperation::kGet, StoreOperation::kHead})
    EXPECT_EQ(metrics_.Requests(each), 1u);
  EXPECT_EQ(metrics_.hedged, 0u);
}

TEST_F(HttpObjectStoreTest, WhatWasNotSentDoesNotCount) {
  StartGet(0, 2);
  transport().Fail(absl::UnavailableError("refused"));
  EXPECT_EQ(metrics_.Requests(StoreOperation::kGet), 0u);
}

TEST_F(HttpObjectStoreTest, ASecondRequestCountsAsSuchWhenItIsSent) {
  for (const bool sent : {false, true}) {
    testing::RecordingSink sink;
    GetRequest request;
    request.key = "k";
    request.range = {0, 2};
    request.second = true;
    store().Get(std::move(request), &sink);
    if (sent) {
      transport().Answer(Part("0-1/1000", {"ab"}));
    } else {
      transport().Fail(absl::CancelledError("cancelled"));
    }
    EXPECT_EQ(metrics_.Requests(StoreOperation::kGet), sent ? 1u : 0u);
    EXPECT_EQ(metrics_.hedged, sent ? 1u : 0u);
  }
}

}  // namespace
}  // namespace bucketvol
