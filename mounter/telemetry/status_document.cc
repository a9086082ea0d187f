#include "mounter/telemetry/status_document.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"

// Found by the library through the types; hence not in an anonymous namespace. All of these throw only inside
// FromJson.
namespace bucketvol {

#define BUCKETVOL_JSON(...) NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(__VA_ARGS__)

using Json = nlohmann::json;
BUCKETVOL_JSON(StatusDocument::Processes, guard, worker, standby)
BUCKETVOL_JSON(StatusDocument::Index, keys, files, directories, bytes, skipped, built_at, build_seconds,
               list_requests, list_streams_peak, image_bytes, table_bytes)
BUCKETVOL_JSON(StatusDocument::Store, requests, bytes_in, bytes_out, retries, throttled, errors, in_flight,
               hedged, stalled)
BUCKETVOL_JSON(StatusDocument::Read, requests, bytes, from_memory, from_disk, from_store, padding, streams,
               stale_objects, bad_checksums, timed_out, in_flight, errors)
BUCKETVOL_JSON(StatusDocument::Memory, budget, used, limit, charged, peak, kills)
BUCKETVOL_JSON(StatusDocument::Cpu, limit, used_seconds, throttled_seconds)
BUCKETVOL_JSON(StatusDocument::Cache, dir, capacity, used)
BUCKETVOL_JSON(StatusDocument, source, mountpoint, mountpoints, kind, state, transport, index_fs, pid,
               worker_restarts, index, store, read, memory, cpu, cache, last_error)

#undef BUCKETVOL_JSON

std::string StatusDocument::ToJson() const {
  Json json = *this;
  Json& requests = json["store"]["requests"];
  for (const char* method : {"GET", "LIST", "HEAD", "PUT", "DELETE", "POST"}) {
    if (!requests.contains(method)) requests[method] = 0;
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::StatusOr<StatusDocument> StatusDocument::FromJson(absl::string_view json) {
  const Json parsed = Json::parse(json.begin(), json.end(), nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return absl::InvalidArgumentError("status document is not a JSON object");
  try {
    return parsed.get<StatusDocument>();
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("status document has a field of another type: ", error.what()));
  }
}

StatusDocument::Read ReadStatus(const ReadMetrics& metrics) {
  StatusDocument::Read read;
  read.requests = metrics.requests.load(std::memory_order_relaxed);
  read.bytes = metrics.bytes.load(std::memory_order_relaxed);
  read.from_memory = metrics.from_memory.load(std::memory_order_relaxed);
  read.from_disk = metrics.from_disk.load(std::memory_order_relaxed);
  read.from_store = metrics.from_store.load(std::memory_order_relaxed);
  read.padding = metrics.padding.load(std::memory_order_relaxed);
  read.streams = metrics.streams.load(std::memory_order_relaxed);
  read.stale_objects = metrics.stale_objects.load(std::memory_order_relaxed);
  read.bad_checksums = metrics.bad_checksums.load(std::memory_order_relaxed);
  read.errors = metrics.errors.load(std::memory_order_relaxed);
  return read;
}

}  // namespace bucketvol
