#include "mounter/cli/mount_status.h"

#include "test/support/status_matchers.h"

namespace bucketvol {
namespace {

GuardReport Report() {
  GuardReport report;
  report.body.state = MountState::kReady;
  report.body.guard_pid = 10;
  report.body.worker_pid = 11;
  report.mount_point = "/mnt";
  StatusDocument worker;
  worker.source = "s3://b";
  worker.kind = "image";
  worker.read.requests = 5;
  worker.last_error = "by the worker";
  report.document = worker.ToJson();
  return report;
}

TEST(MountStatusTest, JoinsWhatWorkerAndGuardKnow) {
  const StatusDocument status = MountStatus(Report());
  EXPECT_EQ(status.source, "s3://b");
  EXPECT_EQ(status.read.requests, 5u);
  EXPECT_EQ(status.mountpoint, "/mnt");
  EXPECT_EQ(status.state, "ready");
  EXPECT_EQ(status.transport, "loop");
  EXPECT_EQ(status.pid.guard, 10);
  EXPECT_EQ(status.pid.worker, 11);
  EXPECT_EQ(status.last_error, "by the worker");
}

TEST(MountStatusTest, TheGuardsErrorGoesFirst) {
  GuardReport report = Report();
  report.body.state = MountState::kDegraded;
  report.last_error = "worker died";
  EXPECT_EQ(MountStatus(report).last_error, "worker died");
  EXPECT_EQ(MountStatus(report).state, "degraded");
}

TEST(MountStatusTest, WithoutAWorkersWordTheFieldsAreThere) {
  GuardReport report = Report();
  for (const char* document : {"", "nonsense", "[1]"}) {
    report.document = document;
    ASSERT_OK_AND_ASSIGN(const StatusDocument parsed, StatusDocument::FromJson(MountStatus(report).ToJson()));
    EXPECT_EQ(parsed.state, "ready");
    EXPECT_EQ(parsed.pid.guard, 10);
  }
}

TEST(MountStatusTest, AGuardThatNamesNoMountPointsHasOne) {
  GuardReport report = Report();
  EXPECT_THAT(MountStatus(report).mountpoints, ::testing::ElementsAre("/mnt"));
  report.mount_points = {"/mnt", "/other"};
  EXPECT_THAT(MountStatus(report).mountpoints, ::testing::ElementsAre("/mnt", "/other"));
}

TEST(MountStatusTest, UsageOfACgroupIsAdded) {
  StatusDocument status;
  status.memory.limit = 7;
  AddUsage(CgroupUsage{}, status);
  EXPECT_EQ(status.memory.limit, 7u);  // As the worker said.
  AddUsage({.memory_limit = 1 << 30,
            .memory_used = 2,
            .memory_peak = 3,
            .memory_kills = 4,
            .cpu_limit_milli = 1'500,
            .cpu_usec = 2'500'000,
            .throttled_usec = 250'000},
           status);
  ASSERT_OK_AND_ASSIGN(const StatusDocument parsed, StatusDocument::FromJson(status.ToJson()));
  EXPECT_EQ(parsed.memory.limit, 1u << 30);
  EXPECT_EQ(parsed.memory.charged, 2u);
  EXPECT_EQ(parsed.memory.peak, 3u);
  EXPECT_EQ(parsed.memory.kills, 4u);
  EXPECT_EQ(parsed.cpu.limit, 1.5);
  EXPECT_EQ(parsed.cpu.used_seconds, 2.5);
  EXPECT_EQ(parsed.cpu.throttled_seconds, 0.25);
  EXPECT_THAT(parsed.ToText(), ::testing::HasSubstr("killed at the limit 4 times"));
}

TEST(MountStatusTest, AnOrphanIsStoppedAndSaysWhatToDo) {
  IndexManifest manifest;
  manifest.source = "oss://b/p";
  manifest.report.files = 3;
  const StatusDocument status = OrphanStatus("/mnt", "file", &manifest);
  EXPECT_EQ(status.state, "stopped");
  EXPECT_EQ(status.source, "oss://b/p");
  EXPECT_EQ(status.index.files, 3u);
  EXPECT_THAT(status.last_error, ::testing::HasSubstr("umount"));
  EXPECT_EQ(OrphanStatus("/mnt", "loop", nullptr).source, "");
}

TEST(MountStatusTest, ShowsOnlyReasonsThatOccurred) {
  IndexReport report;
  report.skipped[static_cast<size_t>(SkipReason::kDotSegment)].count = 2;
  report.built_at = absl::FromUnixSeconds(0) + absl::Hours(24);
  const StatusDocument::Index index = IndexStatus(report);
  EXPECT_THAT(index.skipped, ::testing::ElementsAre(std::make_pair("dot_segment", 2u)));
  EXPECT_EQ(index.built_at, "1970-01-02T00:00:00Z");
}

}  // namespace
}  // namespace bucketvol
