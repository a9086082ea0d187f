#include "mounter/index/index_report.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "mounter/base/log.h"
#include "mounter/index/index_file.h"
#include "nlohmann/json.hpp"

namespace bucketvol {
namespace {

using Json = nlohmann::ordered_json;

// What a reader of the text is told about each reason.
absl::string_view Explain(SkipReason reason) {
  switch (reason) {
    case SkipReason::kEmptySegment:
      return "two slashes in a row, or one at the front";
    case SkipReason::kDotSegment:
      return "\".\" or \"..\" as a name";
    case SkipReason::kLongSegment:
      return "a name of more than 255 bytes";
    case SkipReason::kNulByte:
      return "a NUL byte in a name";
    case SkipReason::kShadowedByDirectory:
      return "a file hidden by a directory of the same name";
    case SkipReason::kDirectoryData:
      return "data of a key that ends in a slash: shown as a directory";
  }
  return "";
}

Json::string_t Text(absl::string_view bytes) { return Printable(bytes, 4096); }

std::string Utc(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()); }

Json SkippedJson(const IndexReport& report) {
  Json counts = Json::object();
  for (int i = 0; i < kSkipReasons; ++i) {
    if (report.skipped[i].count == 0) continue;
    counts[std::string(SkipReasonName(static_cast<SkipReason>(i)))] = report.skipped[i].count;
  }
  return counts;
}

Json ExamplesJson(const IndexReport& report) {
  Json examples = Json::object();
  for (int i = 0; i < kSkipReasons; ++i) {
    for (const std::string& key : report.skipped[i].examples) {
      examples[std::string(SkipReasonName(static_cast<SkipReason>(i)))].push_back(Text(key));
    }
  }
  return examples;
}

void Line(std::string& text, absl::string_view name, absl::string_view value) {
  absl::StrAppend(&text, name, std::string(name.size() < 14 ? 14 - name.size() : 1, ' '), value, "\n");
}

void SkippedText(std::string& text, const IndexReport& report) {
  for (int i = 0; i < kSkipReasons; ++i) {
    const auto reason = static_cast<SkipReason>(i);
    const IndexReport::Skipped& skipped = report.skipped[i];
    if (skipped.count == 0) continue;
    absl::StrAppend(&text, "not shown: ", skipped.count, " × ", SkipReasonName(reason), " (", Explain(reason),
                    ")\n");
    for (const std::string& key : skipped.examples) absl::StrAppend(&text, "  ", Printable(key), "\n");
    if (skipped.count > skipped.examples.size()) text.append("  …\n");
  }
}

}  // namespace

absl::string_view SkipReasonName(SkipReason reason) {
  switch (reason) {
    case SkipReason::kEmptySegment:
      return "empty_segment";
    case SkipReason::kDotSegment:
      return "dot_segment";
    case SkipReason::kLongSegment:
      return "long_segment";
    case SkipReason::kNulByte:
      return "nul_byte";
    case SkipReason::kShadowedByDirectory:
      return "shadowed_by_directory";
    case SkipReason::kDirectoryData:
      return "directory_data";
  }
  return "";
}

void IndexReport::Skip(SkipReason reason, absl::string_view key) {
  Skipped& entry = skipped[static_cast<size_t>(reason)];
  ++entry.count;
  if (entry.examples.size() < kExamples) entry.examples.emplace_back(key);
}

std::string IndexReportText(const IndexManifest& manifest) {
  const IndexReport& report = manifest.report;
  std::string text;
  Line(text, "source", Printable(manifest.source));
  Line(text, "endpoint", Printable(manifest.endpoint));
  Line(text, "options", Printable(manifest.options));
  Line(text, "built", absl::StrCat(Utc(report.built_at), " in ", absl::FormatDuration(report.build_time)));
  Line(text, "keys", absl::StrCat(report.keys));
  Line(text, "files", absl::StrCat(report.files));
  Line(text, "directories",
       absl::StrCat(report.directories, ", ", report.marked_directories, " of them with a marker"));
  Line(text, "bytes", absl::StrCat(report.bytes));
  Line(text, "archived",
       absl::StrCat(report.archived, report.archived > 0 ? " (must be restored before reading)" : ""));
  Line(text, "requests",
       absl::StrCat(report.list_requests, ", ", report.list_streams_peak, " at once at most"));
  Line(text, "image",
       absl::StrCat(report.image_bytes, " bytes", manifest.needs_48bit ? ", 48-bit layout" : ""));
  Line(text, "table", absl::StrCat(report.table_bytes, " bytes"));
  Line(text, "devices", absl::StrCat(manifest.devices.size()));
  Line(text, "version", absl::StrCat(manifest.version));
  SkippedText(text, report);
  return text;
}

std::string IndexManifestJson(const IndexManifest& manifest) {
  const IndexReport& report = manifest.report;
  Json devices = Json::array();
  for (const DataDevice& device : manifest.devices) {
    devices.push_back({{"first_block", device.first_block}, {"blocks", device.blocks}});
  }
  const Json json = {
      {"version", manifest.version},
      {"source", Text(manifest.source)},
      {"endpoint", Text(manifest.endpoint)},
      {"prefix", Text(manifest.prefix)},
      {"options", Text(manifest.options)},
      {"keys", report.keys},
      {"files", report.files},
      {"directories", report.directories},
      {"marked_directories", report.marked_directories},
      {"bytes", report.bytes},
      {"archived", report.archived},
      {"skipped", SkippedJson(report)},
      {"examples", ExamplesJson(report)},
      {"built_at", Utc(report.built_at)},
      {"build_seconds", absl::ToDoubleSeconds(report.build_time)},
      {"list_requests", report.list_requests},
      {"list_streams_peak", report.list_streams_peak},
      {"image_bytes", report.image_bytes},
      {"table_bytes", report.table_bytes},
      {"needs_48bit", manifest.needs_48bit},
      {"devices", std::move(devices)},
  };
  return json.dump(2);
}

}  // namespace bucketvol
