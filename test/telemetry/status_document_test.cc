#include "mounter/telemetry/status_document.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::StatusIs;
using Json = nlohmann::json;

StatusDocument Sample() {
  StatusDocument document;
  document.source = "oss://b/p";
  document.mountpoint = "/mnt";
  document.kind = "image";
  document.state = "ready";
  document.transport = "loop";
  document.index_fs = "erofs";
  document.pid = {11, 22};
  document.worker_restarts = 3;
  document.index.files = 12'345'678;
  document.index.bytes = uint64_t{3} << 40;
  document.index.skipped = {{"dot_segment", 4}, {"empty_segment", 0}};
  document.index.built_at = "2026-01-02T03:04:05Z";
  document.index.build_seconds = 12.34;
  document.store.requests = {{"GET", 7}};
  document.store.bytes_in = 1'500'000;
  document.read.requests = 99;
  document.read.from_memory = 1'536;
  document.memory = {128 << 20, 64 << 20, 512 << 20};
  document.last_error = "object changed";
  return document;
}

TEST(StatusDocumentTest, TextNamesEveryMountPointOnce) {
  StatusDocument document = Sample();
  document.mountpoints = {"/first", "/mnt"};
  const std::string text = document.ToText();
  EXPECT_THAT(text, HasSubstr("mounted at /mnt\n           and at /first\n"));
  EXPECT_EQ(text.find("/mnt"), text.rfind("/mnt"));
}

// The fields that scripts read. None may go away or change its type.
TEST(StatusDocumentTest, HasTheDocumentedFields) {
  const Json expected = Json::parse(R"({
    "source":"","mountpoint":"","mountpoints":[],"kind":"","state":"","transport":"","index_fs":"","pid":{"guard":0,"worker":0,"standby":0},
    "worker_restarts":0,
    "index":{"keys":0,"files":0,"directories":0,"bytes":0,"skipped":{},"built_at":"","build_seconds":0.0,
             "list_requests":0,"list_streams_peak":0,"image_bytes":0,"table_bytes":0},
    "store":{"requests":{"GET":0,"LIST":0,"HEAD":0,"PUT":0,"DELETE":0,"POST":0},"bytes_in":0,"bytes_out":0,
             "retries":0,"throttled":0,"errors":0,"in_flight":0,"hedged":0,"stalled":0},
    "read":{"requests":0,"bytes":0,"from_memory":0,"from_disk":0,"from_store":0,"streams":0,"stale_objects":0,"errors":0},
    "memory":{"budget":0,"used":0,"limit":0},"cache":{"dir":"","capacity":0,"used":0},"last_error":""})");
  const Json document = Json::parse(StatusDocument().ToJson()).flatten();
  const Json flat = expected.flatten();
  for (const auto& [path, value] : flat.items()) {
    ASSERT_TRUE(document.contains(path)) << path;
    EXPECT_EQ(document[path].type(), value.type()) << path;
  }
}

TEST(StatusDocumentTest, ComesBackAsItWas) {
  const std::string json = Sample().ToJson();
  EXPECT_EQ(json.find('\n'), std::string::npos);
  ASSERT_OK_AND_ASSIGN(const StatusDocument back, StatusDocument::FromJson(json));
  EXPECT_EQ(back.ToJson(), json);
  EXPECT_EQ(back.pid.worker, 22);
  EXPECT_EQ(back.index.skipped.at("dot_segment"), 4u);
}

TEST(StatusDocumentTest, ReadsTheDocumentOfAnotherVersion) {
  ASSERT_OK_AND_ASSIGN(
      const StatusDocument document,
      StatusDocument::FromJson(R"({"state":"degraded","new_field":[1],"read":{"requests":5}})"));
  EXPECT_EQ(document.state, "degraded");
  EXPECT_EQ(document.read.requests, 5u);
  EXPECT_EQ(document.read.bytes, 0u);
}

TEST(StatusDocumentTest, RefusesWhatIsNoDocument) {
  for (const char* text : {"", "[]", "3", "{", "{\"source\":", "\xff\xfe"}) {
    EXPECT_THAT(StatusDocument::FromJson(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("JSON")));
  }
  EXPECT_THAT(StatusDocument::FromJson(R"({"source":5})"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("another type")));
}

TEST(StatusDocumentTest, AHostileNameDoesNotBreakIt) {
  StatusDocument document;
  document.last_error = "key \xff\xfe\"\n";
  document.source = "a\nb";
  EXPECT_OK(StatusDocument::FromJson(document.ToJson()));
  EXPECT_THAT(document.ToText(), Not(HasSubstr("a\nb")));
}

TEST(StatusDocumentTest, TextIsForPeople) {
  const std::string text = Sample().ToText();
  EXPECT_THAT(text, AllOf(HasSubstr("12,345,678 files"), HasSubstr("3.0 TiB"), HasSubstr("1.4 MiB in"),
                          HasSubstr("1.5 KiB from memory"), HasSubstr("image, erofs by loop"),
                          HasSubstr("64.0 MiB of 128 MiB for data; the worker may use 512 MiB")));
  EXPECT_THAT(text, AllOf(HasSubstr("4 dot_segment"), Not(HasSubstr("empty_segment"))));
  EXPECT_THAT(text, HasSubstr("\nlast error object changed\n"));
}

TEST(ReadStatusTest, TakesEveryCounter) {
  ReadMetrics metrics;
  uint64_t value = 1;
  for (std::atomic<uint64_t>* counter :
       {&metrics.requests, &metrics.bytes, &metrics.from_memory, &metrics.from_disk, &metrics.from_store,
        &metrics.padding, &metrics.streams, &metrics.stale_objects, &metrics.bad_checksums,
        &metrics.errors}) {
    *counter = value++;
  }
  const StatusDocument::Read read = ReadStatus(metrics);
  EXPECT_EQ((std::vector<uint64_t>{read.requests, read.bytes, read.from_memory, read.from_disk,
                                   read.from_store, read.padding, read.streams, read.stale_objects,
                                   read.bad_checksums, read.errors}),
            (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

}  // namespace
}  // namespace bucketvol
