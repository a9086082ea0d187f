#include "mounter/index/index_builder.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"
#include "mounter/base/crc.h"
#include "mounter/base/file.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/address_space.h"
#include "mounter/index/key_rules.h"
#include "mounter/index/meta_file.h"
#include "mounter/index/object_table_writer.h"
#include "mounter/index/staged_file.h"
#include "mounter/index/superblock.h"
#include "mounter/index/tree_writer.h"

namespace bucketvol {
namespace {

TreeSettings TreeSettingsOf(const IndexBuildSettings& settings) {
  TreeSettings tree;
  tree.scratch_directory = settings.directory;
  tree.key_prefix = settings.prefix;
  tree.umask = settings.umask;
  tree.uid = settings.uid;
  tree.gid = settings.gid;
  tree.memory_bytes = settings.memory_bytes;
  tree.directory_time = settings.now;
  return tree;
}

class Builder final : public IndexBuilder {
 public:
  Builder(IndexBuildSettings settings, StagedFile meta, StagedFile table)
      : settings_(std::move(settings)),
        meta_(std::move(meta)),
        table_(std::move(table), settings_.directory, settings_.prefix),
        space_(settings_.allow_48bit),
        tree_(TreeSettingsOf(settings_), meta_, space_, report_) {}

  absl::Status Start() { return tree_.Start(); }

  absl::Status Add(absl::Span<const ListedObject> objects) override {
    for (const ListedObject& object : objects) RETURN_IF_ERROR(AddOne(object));
    return absl::OkStatus();
  }

  absl::StatusOr<IndexManifest> Finish(const IndexReport& listing) override;
  uint64_t keys() const override { return report_.keys; }

 private:
  absl::Status AddOne(const ListedObject& object);
  absl::Status CheckOrder(absl::string_view key);
  absl::Status AddDirectory(absl::string_view path, const ListedObject& object);
  absl::Status AddFile(absl::string_view path, const ListedObject& object);
  IndexManifest MakeManifest(const IndexReport& listing) const;
  std::string BuildId() const;
  absl::Status WriteHeaders(const IndexManifest& manifest);
  absl::Status Publish(const IndexManifest& manifest);

  const IndexBuildSettings settings_;
  IndexReport report_;
  MetaFile meta_;
  ObjectTableWriter table_;
  AddressSpace space_;
  TreeWriter tree_;
  std::string last_key_;
};

absl::Status Builder::AddOne(const ListedObject& object) {
  RETURN_IF_ERROR(CheckOrder(object.key));
  ++report_.keys;
  const absl::string_view path = object.key.substr(settings_.prefix.size());
  if (const auto reason = WhySkipped(tree_.NewPart(path))) {
    report_.Skip(*reason, object.key);
    return absl::OkStatus();
  }
  return path.empty() || path.back() == '/' ? AddDirectory(path, object) : AddFile(path, object);
}

absl::Status Builder::CheckOrder(absl::string_view key) {
  if (key.substr(0, settings_.prefix.size()) != settings_.prefix) {
    return absl::InvalidArgumentError(
        absl::StrCat("key does not begin with \"", Printable(settings_.prefix), "\": ", Printable(key)));
  }
  if (report_.keys > 0 && key <= absl::string_view(last_key_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("keys are out of order: after ", Printable(last_key_), " came ", Printable(key)));
  }
  last_key_.assign(key.data(), key.size());
  return absl::OkStatus();
}

absl::Status Builder::AddDirectory(absl::string_view path, const ListedObject& object) {
  if (object.size > 0) report_.Skip(SkipReason::kDirectoryData, object.key);
  return tree_.AddMarker(path, object.modified_ms);
}

absl::Status Builder::AddFile(absl::string_view path, const ListedObject& object) {
  FileFacts file;
  file.size = object.size;
  file.modified_ms = object.modified_ms;
  file.archived = object.archived;
  if (object.size > 0) {
    auto place = space_.Place(object.size);
    if (!place.ok()) return Annotate(place.status(), Printable(object.key));
    file.place = *place;
    RETURN_IF_ERROR(table_.Add(path, object.etag, object.size, file.place.device));
  }
  return tree_.AddFile(path, file);
}

absl::StatusOr<IndexManifest> Builder::Finish(const IndexReport& listing) {
  RETURN_IF_ERROR(tree_.Finish());
  RETURN_IF_ERROR(meta_.Flush());
  RETURN_IF_ERROR(table_.Finish());
  IndexManifest manifest = MakeManifest(listing);
  RETURN_IF_ERROR(WriteHeaders(manifest));
  RETURN_IF_ERROR(Publish(manifest));
  return manifest;
}

IndexManifest Builder::MakeManifest(const IndexReport& listing) const {
  IndexManifest manifest;
  manifest.version = kIndexVersion;
  manifest.build_id = BuildId();
  manifest.source = settings_.source;
  manifest.endpoint = settings_.endpoint;
  manifest.prefix = settings_.prefix;
  manifest.options = settings_.options;
  manifest.meta_bytes = meta_.bytes();
  manifest.needs_48bit = space_.needs_48bit();
  manifest.devices = space_.devices();
  manifest.report = report_;
  manifest.report.list_requests = listing.list_requests;
  manifest.report.list_streams_peak = listing.list_streams_peak;
  manifest.report.build_time = listing.build_time;
  manifest.report.built_at = settings_.now;
  manifest.report.image_bytes = meta_.bytes();
  manifest.report.table_bytes = table_.bytes();
  return manifest;
}

// Tells builds apart, also of one source at one time: two checksums of the content, one of the circumstances.
std::string Builder::BuildId() const {
  uint64_t circumstances = Crc64(0, absl::StrCat(absl::ToUnixNanos(settings_.now)));
  for (const std::string& word :
       {settings_.source, settings_.endpoint, settings_.prefix, settings_.options}) {
    circumstances = Crc64(circumstances, absl::StrCat(word.size(), ":", word));
  }
  std::string id;
  AppendLittle(id, meta_.digest());
  AppendLittle(id, table_.digest());
  AppendLittle(id, circumstances);
  return id;
}

absl::Status Builder::WriteHeaders(const IndexManifest& manifest) {
  SuperBlockFacts super;
  super.image_bytes = manifest.meta_bytes;
  super.root_nid = tree_.root_nid();
  super.inodes = report_.files + report_.directories + 1;
  super.build_time = settings_.now;
  super.uuid = manifest.build_id;
  super.needs_48bit = manifest.needs_48bit;
  super.devices = manifest.devices;
  RETURN_IF_ERROR(meta_.Patch(0, MakeFirstBlock(super)));
  return table_.WriteHeader(manifest.build_id);
}

absl::Status Builder::Publish(const IndexManifest& manifest) {
  ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(settings_.directory, kManifestName));
  RETURN_IF_ERROR(file.WriteAt(EncodeIndexManifest(manifest), 0));
  return PublishFiles(settings_.directory, {&meta_.file(), &table_.file(), &file});
}

}  // namespace

absl::StatusOr<std::unique_ptr<IndexBuilder>> IndexBuilder::Create(IndexBuildSettings settings) {
  RETURN_IF_ERROR(MakeDirectories(settings.directory));
  ASSIGN_OR_RETURN(StagedFile meta, StagedFile::Create(settings.directory, kMetaName));
  ASSIGN_OR_RETURN(StagedFile table, StagedFile::Create(settings.directory, kTableName));
  auto builder = std::make_unique<Builder>(std::move(settings), std::move(meta), std::move(table));
  RETURN_IF_ERROR(builder->Start());
  return builder;
}

}  // namespace bucketvol
