// How the first worker of a mount comes by its index.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/index_choice.h"
#include "mounter/cli/worker.h"

namespace bucketvol {
namespace {

// Pages are parsed by these threads; the network runs beside them.
constexpr int kListingThreads = 2;

absl::Status Failed(const Failure& failure) { return absl::InternalError(failure.text); }

}  // namespace

absl::StatusOr<ServedIndex> Worker::FirstIndex(const VolumeSpec& spec, ObjectStore& store) {
  const absl::Time asked = clock_.WallNow();
  const IndexStore indexes(options_.state_dir, clock_);
  ASSIGN_OR_RETURN(IndexLease lease, indexes.Claim(IndexKeyOf(spec), *cancellation_,
                                                   [this](uint64_t keys) { TellWaiting(keys); }));
  ASSIGN_OR_RETURN(IndexManifest manifest, ProvideIndex(store, lease, asked));
  ASSIGN_OR_RETURN(ServedIndex index, ServedIndex::Open(std::move(manifest), std::move(lease)));
  RETURN_IF_ERROR(AnnounceImage(index));
  index.lease().ReleaseBuild();
  KeepIndex(index.lease());
  indexes.Collect();
  return index;
}

void Worker::KeepIndex(const IndexLease& lease) {
  const absl::Time until = clock_.WallNow() + std::max(IndexStore::kKeep, options_.index_max_age);
  if (auto kept = lease.KeepUntil(until); !kept.ok()) LogWarning(kept.message());
}

absl::StatusOr<IndexManifest> Worker::ProvideIndex(ObjectStore& store, const IndexLease& lease,
                                                   absl::Time asked) {
  auto found = ReadIndexManifest(lease.directory());
  const bool fits = found.ok() && IndexFits(*found, options_);
  {
    absl::MutexLock lock(&mu_);
    if (fits) expected_keys_ = found->report.keys;
  }
  if (!fits || !IsFreshEnough(*found, options_, asked)) found = Build(store, lease);
  RETURN_IF_ERROR(found.status());
  WarnOf(*found);
  return found;
}

absl::StatusOr<IndexManifest> Worker::Build(ObjectStore& store, const IndexLease& lease) {
  ThreadPool parsers("list", kListingThreads);
  IndexJob job(store, clock_, parsers, options_, lease.directory());
  {
    absl::MutexLock lock(&mu_);
    job_ = &job;
    building_ = &lease;
    job_start_ = clock_.Elapsed();
  }
  WakeListener();
  absl::Cleanup forget = [&] {
    absl::MutexLock lock(&mu_);
    job_ = nullptr;
    building_ = nullptr;
  };
  auto manifest = job.Run(cancellation_);
  if (manifest.ok()) {
    LogInfo("indexed ", manifest->report.keys, " keys in ",
            absl::FormatDuration(manifest->report.build_time));
  }
  return manifest;
}

absl::Status Worker::AnnounceImage(const ServedIndex& index) {
  const IndexManifest& manifest = index.manifest();
  ImageBody body;
  body.meta_bytes = manifest.meta_bytes;
  body.devices = static_cast<uint32_t>(manifest.devices.size());
  body.needs_48bit = manifest.needs_48bit ? 1 : 0;
  std::vector<int> descriptors = index.Legacy();
  descriptors.insert(descriptors.begin(), {index.meta().get(), index.lease().build_lock().get()});
  const Step sent =
      guard_.SendWaiting(EncodeMessage(MessageType::kImage, body, {index.meta_path()}), descriptors);
  return sent.ok() ? absl::OkStatus() : Failed(sent.failure());
}

void Worker::WarnOf(const IndexManifest& manifest) {
  const IndexReport& report = manifest.report;
  const auto warn = [this](const std::string& text) {
    LogWarning(text);
    (void)guard_.Send(EncodePacket(MessageType::kWarning, "", JoinStrings({text}))).ok();
  };
  if (report.keys == 0)
    warn(absl::StrCat("nothing is there to be shown: no key in ", options_.source.ToString()));
  uint64_t skipped = 0;
  for (const IndexReport::Skipped& reason : report.skipped) skipped += reason.count;
  if (skipped > 0) {
    warn(absl::StrCat(skipped, " of ", report.keys,
                      " keys cannot be shown as files (bucketvol status tells why)"));
  }
}

void Worker::TellWaiting(uint64_t keys) const {
  ProgressBody body;
  body.keys = keys;
  body.of_another = 1;
  (void)guard_.Send(EncodeMessage(MessageType::kProgress, body)).ok();
}

}  // namespace bucketvol
