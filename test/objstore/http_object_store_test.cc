#include "mounter/objstore/http_object_store.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "mounter/objstore/signing_text.h"
#include "mounter/objstore/store_error.h"
#include "test/objstore/fake_http_transport.h"
#include "test/objstore/recording_sink.h"
#include "test/support/fake_clock.h"
#include "test/support/status_matchers.h"
#include "test/support/virtual_time.h"

namespace bucketvol {
namespace {

using testing::FakeAnswer;
using testing::FakeClock;
using testing::FakeHttpTransport;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::RecordingSink;
using ::testing::StartsWith;
using testing::StatusIs;

constexpr char kPage[] =
    "<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a</Key><Size>1</Size></Contents></"
    "ListBucketResult>";

// Credentials that can be exchanged behind the store's back.
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

std::string ErrorBody(absl::string_view code, absl::string_view more = "") {
  return absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>", code,
                      "</Code><Message>the words.</Message><RequestId>R1</RequestId>", more, "</Error>");
}

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
      store_.emplace(settings_, std::move(transport), credentials_, clock_, executor_, &gate_);
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
  testing::VirtualTime executor_;
  StoreMetrics metrics_;
  RequestGate gate_{0, clock_, metrics_};
  std::optional<absl::StatusOr<ListPage>> page_;
  std::optional<absl::StatusOr<ObjectInfo>> info_;
  std::optional<RecordingSink> sink_;

 private:
  FakeHttpTransport* transport_ = nullptr;
  std::optional<HttpObjectStore> store_;
};

FakeAnswer Part(absl::string_view range, std::vector<std::string> body, absl::string_view etag = "\"E\"") {
  size_t length = 0;
  for (const std::string& piece : body) length += piece.size();
  return {.status = 206,
          .headers = {absl::StrCat("Content-Range: bytes ", range), absl::StrCat("ETag: ", etag),
                      absl::StrCat("Content-Length: ", length)},
          .body = std::move(body)};
}

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

// --- Wrong answers to GET: never a byte to the sink ---

TEST_F(HttpObjectStoreTest, RefusesPartsThatAreNotWhatWasAsked) {
  const auto refused = [&](const FakeAnswer& answer, absl::StatusCode code, absl::string_view why) {
    StartGet(10, 20);
    transport().Answer(answer);
    EXPECT_THAT(sink_->status(), StatusIs(code, HasSubstr(std::string(why))));
    EXPECT_EQ(sink_->data(), "") << why;
    EXPECT_EQ(sink_->ends(), 1);
    EXPECT_EQ(IsRetryable(sink_->status()), code == absl::StatusCode::kDataLoss);
  };
  const std::vector<std::string> ten = {"0123456789"};
  refused({.status = 200, .headers = {"Content-Length: 1000"}, .body = {"x"}}, absl::StatusCode::kDataLoss,
          "whole object");
  refused({.status = 204}, absl::StatusCode::kDataLoss, "unexpected status");
  refused({.status = 206, .body = ten}, absl::StatusCode::kDataLoss, "no valid Content-Range");
  refused(Part("0-9/1000", ten), absl::StatusCode::kDataLoss, "another range");
  refused(Part("10-18/1000", {"012345678"}), absl::StatusCode::kDataLoss, "another range");
  refused(Part("10-19/1000", {"0123"}), absl::StatusCode::kDataLoss, "another length");
  refused(Part("10-19/999", ten), absl::StatusCode::kDataLoss, "another size of the object: 999");
  refused(Part("10-19/1000", ten, "\"F\""), absl::StatusCode::kFailedPrecondition, "another ETag");
  refused({.status = 412, .body = {ErrorBody("PreconditionFailed")}}, absl::StatusCode::kFailedPrecondition,
          "changed");
  refused({.status = 416, .body = {ErrorBody("InvalidRange")}}, absl::StatusCode::kFailedPrecondition,
          "size changed");
  refused({.status = 404, .body = {ErrorBody("NoSuchKey")}}, absl::StatusCode::kNotFound,
          "NoSuchKey, HTTP 404");
}

TEST_F(HttpObjectStoreTest, WithoutAVersionAnotherSizeIsAChange) {
  StartGet(10, 20, "", std::nullopt);
  transport().Answer(Part("10-14/15", {"01234"}));
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("15 bytes now")));
  StartGet(10, 20, "", 1000);
  transport().Answer(Part("10-19/999", {"0123456789"}));
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("999 bytes now")));
  StartGet(0, 10, "", 1000);
  transport().Answer({.status = 200, .headers = {"Content-Length: 10"}, .body = {"0123456789"}});
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("10 bytes now")));
}

TEST_F(HttpObjectStoreTest, ABodyOfWrongLengthIsAnError) {
  StartGet(10, 20);
  transport().Answer(
      {.status = 206, .headers = {"Content-Range: bytes 10-19/1000"}, .body = {"01234", "567"}});
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("shorter")));
  StartGet(10, 20);
  transport().Answer(
      {.status = 206, .headers = {"Content-Range: bytes 10-19/1000"}, .body = {"01234", "567890"}});
  EXPECT_THAT(sink_->status(), StatusIs(absl::StatusCode::kDataLoss, HasSubstr("longer")));
  EXPECT_EQ(sink_->data(), "01234");
}

TEST_F(HttpObjectStoreTest, TheEndOfTheTransferCounts) {
  StartGet(10, 20);
  FakeAnswer answer = Part("10-19/1000", {"0123456789"});
  answer.end = absl::UnavailableError("reset");
  transport().Answer(answer);
  EXPECT_THAT(sink_->status(),
              StatusIs(absl::StatusCode::kUnavailable, "cannot read oss://bucket/dir/a b: reset"));
}

// --- Wrong answers to LIST and HEAD ---

TEST_F(HttpObjectStoreTest, AWebPageIsNoListing) {
  StartList();
  transport().Answer(
      {.headers = {"Content-Type: text/html"}, .body = {"<!DOCTYPE HTML><html>Welcome</html>"}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HTML page, is url= right?")));
  EXPECT_FALSE(IsRetryable(page_->status()));
  StartList();
  transport().Answer({.status = 403, .body = {"<html>Forbidden</html>"}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("HTML page")));
  StartList();
  transport().Answer({.status = 502, .body = {"<html>Bad gateway</html>"}});
  EXPECT_TRUE(IsRetryable(page_->status()));
}

TEST_F(HttpObjectStoreTest, ACutListingIsRetryable) {
  StartList();
  transport().Answer({.body = {std::string(kPage).substr(0, 80)}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kDataLoss, StartsWith("cannot list oss://bucket: ")));
  EXPECT_TRUE(IsRetryable(page_->status()));
}

TEST_F(HttpObjectStoreTest, AnEndlessListingIsRefused) {
  StartList();
  FakeAnswer answer;
  answer.body.assign(33, std::string(512 * 1024, ' '));
  transport().Answer(answer);
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("larger than any page")));
  StartList();
  transport().Answer({.headers = {"Content-Length: 99999999999"}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("larger than any page")));
}

TEST_F(HttpObjectStoreTest, ReadsTheErrorOfAHeadFromItsHeader) {
  StartHead();
  transport().Answer({.status = 404,
                      .headers = {absl::StrCat("x-oss-err: ", absl::Base64Escape(ErrorBody("NoSuchKey"))),
                                  "x-oss-request-id: R0"}});
  EXPECT_THAT(*info_,
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("(NoSuchKey, HTTP 404, request id R1)")));
}

TEST_F(HttpObjectStoreTest, ErrorsCarryTheServicesWords) {
  StartList();
  transport().Answer({.status = 503, .body = {ErrorBody("SlowDown")}});
  const std::optional<StoreError> error = StoreErrorOf(page_->status());
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code, "SlowDown");
  EXPECT_EQ(error->request_id, "R1");
  EXPECT_TRUE(error->throttled);
  EXPECT_TRUE(error->retryable);
  EXPECT_THAT(*page_,
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("the words (SlowDown, HTTP 503")));
}

// --- Refusals that can be put right ---

TEST_F(HttpObjectStoreTest, TriesNewerCredentialsOnce) {
  credentials_.next = Credentials{"ak2", Secret("other"), Secret("token2")};
  StartHead();
  transport().Answer(
      {.status = 403,
       .headers = {absl::StrCat("x-oss-err: ", absl::Base64Escape(ErrorBody("InvalidAccessKeyId")))}});
  EXPECT_FALSE(info_.has_value());
  ASSERT_EQ(transport().waiting(), 1u);
  EXPECT_THAT(transport().Header("authorization"), HasSubstr("Credential=ak2/"));
  EXPECT_EQ(transport().Header("x-oss-security-token"), "token2");
  transport().Answer(
      {.status = 403,
       .headers = {absl::StrCat("x-oss-err: ", absl::Base64Escape(ErrorBody("InvalidAccessKeyId")))}});
  EXPECT_THAT(*info_, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("check the access key id")));
  EXPECT_EQ(credentials_.rejections, 1);
}

TEST_F(HttpObjectStoreTest, DoesNotRepeatWithTheSameCredentials) {
  StartList();
  transport().Answer({.status = 400, .body = {ErrorBody("ExpiredToken")}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("temporary credentials")));
  EXPECT_EQ(credentials_.rejections, 1);
}

TEST_F(HttpObjectStoreTest, AWrongSignatureIsNoReasonToReload) {
  StartList();
  transport().Answer({.status = 403, .body = {ErrorBody("SignatureDoesNotMatch")}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("access key secret")));
  EXPECT_EQ(credentials_.rejections, 0);
}

TEST_F(HttpObjectStoreTest, FollowsTheClockOfTheService) {
  StartList();
  EXPECT_EQ(transport().Header("x-oss-date"), "20231216T162057Z");
  clock_.Advance(absl::Seconds(1));
  transport().Answer({.status = 403,
                      .headers = {"Date: Sat, 16 Dec 2023 18:20:58 GMT"},
                      .body = {ErrorBody("RequestTimeTooSkewed")}});
  ASSERT_EQ(transport().waiting(), 1u);
  EXPECT_EQ(transport().Header("x-oss-date"), "20231216T182058Z");
  transport().Answer({.body = {kPage}});
  EXPECT_OK(*page_);
  StartList();  // The offset stays.
  EXPECT_EQ(transport().Header("x-oss-date"), "20231216T182058Z");
  transport().Answer({.status = 403,
                      .headers = {"Date: Sat, 16 Dec 2023 18:20:58 GMT"},
                      .body = {ErrorBody("RequestTimeTooSkewed")}});
  transport().Answer({.status = 403,
                      .headers = {"Date: Sat, 16 Dec 2023 18:20:58 GMT"},
                      .body = {ErrorBody("RequestTimeTooSkewed")}});
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("set this machine's clock")));
}

TEST_F(HttpObjectStoreTest, SignsForTheRegionThatS3Names) {
  UseS3();
  StartList();
  transport().Answer(
      {.status = 400, .body = {ErrorBody("AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>")}});
  ASSERT_EQ(transport().waiting(), 1u);
  EXPECT_THAT(transport().Header("authorization"), HasSubstr("/eu-west-1/s3/aws4_request"));
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.s3.us-east-1.amazonaws.com/"));
}

TEST_F(HttpObjectStoreTest, FollowsAPermanentRedirectForGood) {
  UseS3();
  StartList();
  transport().Answer(
      {.status = 301,
       .headers = {"x-amz-bucket-region: eu-west-1"},
       .body = {ErrorBody("PermanentRedirect", "<Endpoint>bucket.s3-eu-west-1.amazonaws.com</Endpoint>")}});
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.s3-eu-west-1.amazonaws.com/?"));
  EXPECT_THAT(transport().Header("authorization"), HasSubstr("/eu-west-1/s3/aws4_request"));
  transport().Answer({.body = {kPage}});
  EXPECT_OK(*page_);
  StartHead();
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.s3-eu-west-1.amazonaws.com/"));
}

TEST_F(HttpObjectStoreTest, AHeadIsRedirectedByTheRegionAlone) {
  UseS3();
  StartHead();
  transport().Answer({.status = 301, .headers = {"x-amz-bucket-region: eu-west-1"}});
  EXPECT_EQ(transport().request().url, "https://bucket.s3.eu-west-1.amazonaws.com/k");
}

TEST_F(HttpObjectStoreTest, ATemporaryRedirectHoldsForOneRequest) {
  UseS3();
  StartList();
  transport().Answer(
      {.status = 307,
       .body = {ErrorBody("TemporaryRedirect", "<Endpoint>bucket.s3-eu-west-1.amazonaws.com</Endpoint>")}});
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.s3-eu-west-1.amazonaws.com/"));
  transport().Answer({.body = {kPage}});
  StartList();
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.s3.us-east-1.amazonaws.com/"));
}

TEST_F(HttpObjectStoreTest, FollowsTheEndpointThatOssNames) {
  StartList();
  transport().Answer(
      {.status = 403,
       .body = {ErrorBody("AccessDenied", "<Endpoint>oss-cn-beijing.aliyuncs.com</Endpoint>")}});
  EXPECT_THAT(transport().request().url, StartsWith("https://bucket.oss-cn-beijing.aliyuncs.com/"));
  EXPECT_THAT(transport().Header("authorization"), HasSubstr("/cn-beijing/oss/aliyun_v4_request"));
}

TEST_F(HttpObjectStoreTest, RedirectionsInARingEndWithTheRightWords) {
  UseS3();
  settings_.endpoint.host = "storage.example.com";
  StartList();
  for (int i = 0; i < 3; ++i) {
    ASSERT_FALSE(page_.has_value());
    const char* region = i % 2 == 0 ? "eu-west-1" : "eu-west-2";
    transport().Answer({.status = 301, .headers = {absl::StrCat("x-amz-bucket-region: ", region)}});
  }
  EXPECT_THAT(*page_, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("in region eu-west-1: set region=eu-west-1")));
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

}  // namespace
}  // namespace bucketvol
