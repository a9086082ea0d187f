#include "mounter/cli/index_job.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/cli/kernel_version.h"
#include "mounter/index/index_builder.h"
#include "mounter/index/listing_hints.h"
#include "mounter/objstore/store_error.h"
#include "mounter/options/parse_options.h"

namespace bucketvol {
namespace {

ListerSettings ListingOf(const VolumeOptions& options, const std::string& directory) {
  ListingHints hints =
      ReadListingHints(directory, options.source.ToString(), options.url, options.source.prefix);
  ListerSettings settings;
  settings.hints = std::move(hints.points);
  settings.keys_per_hint = hints.keys_apart;
  if (hints.streams > 0)
    settings.first_streams = static_cast<int>(std::min<uint32_t>(hints.streams, INT_MAX));
  settings.prefix = options.source.prefix;
  settings.spill_directory = directory;
  if (options.list_streams > 0) settings.min_streams = settings.max_streams = options.list_streams;
  return settings;
}

IndexBuildSettings BuildOf(const VolumeOptions& options, const std::string& directory, absl::Time now) {
  IndexBuildSettings settings;
  settings.directory = directory;
  settings.source = options.source.ToString();
  settings.endpoint = options.url;
  settings.options = SourceOptionsKey(options);
  settings.prefix = options.source.prefix;
  settings.umask = options.umask;
  settings.uid = options.uid;
  settings.gid = options.gid;
  settings.allow_48bit = Has48BitErofs(RunningKernel());
  settings.now = now;
  return settings;
}

// Errors of the store name the bucket already; what the lister says of the answers does not.
absl::Status Explain(const absl::Status& status, const VolumeOptions& options) {
  if (absl::IsCancelled(status) || StoreErrorOf(status).has_value()) return status;
  return Annotate(status, absl::StrCat("cannot list ", options.source.ToString()));
}

}  // namespace

IndexJob::IndexJob(ObjectStore& store, const Clock& clock, Executor& executor, const VolumeOptions& options,
                   std::string directory)
    : clock_(clock),
      options_(options),
      directory_(std::move(directory)),
      lister_(store, clock, executor, ListingOf(options, directory_)) {}

absl::StatusOr<IndexManifest> IndexJob::Run(const std::shared_ptr<Cancellation>& cancellation) {
  const absl::Duration begin = clock_.Elapsed();
  ASSIGN_OR_RETURN(const std::unique_ptr<IndexBuilder> builder,
                   IndexBuilder::Create(BuildOf(options_, directory_, clock_.WallNow())));
  RETURN_IF_ERROR(Explain(lister_.Run(*builder, cancellation), options_));
  if (builder->keys() == 0 && !options_.source.prefix.empty() && !options_.allow_empty) {
    return absl::NotFoundError(
        absl::StrCat("path holds no key: ", options_.source.ToString(),
                     " (is it spelt right? the option allow_empty mounts it all the same)"));
  }
  IndexReport listing;
  listing.list_requests = lister_.progress().requests.load();
  listing.list_streams_peak = lister_.progress().streams_peak.load();
  listing.build_time = clock_.Elapsed() - begin;
  if (cancellation->cancelled()) return absl::CancelledError("interrupted");
  absl::StatusOr<IndexManifest> manifest = builder->Finish(listing);
  if (manifest.ok()) LeaveHints();
  return manifest;
}

void IndexJob::LeaveHints() const {
  const ListingHints hints{.source = options_.source.ToString(),
                           .endpoint = options_.url,
                           .prefix = options_.source.prefix,
                           .keys_apart = lister_.BoundaryDistance(),
                           .streams = lister_.progress().streams_peak.load(),
                           .points = lister_.Boundaries()};
  const absl::Status written = WriteListingHints(directory_, hints);
  if (!written.ok()) LogWarning("the next listing will do without hints: ", written.message());
}

}  // namespace bucketvol
