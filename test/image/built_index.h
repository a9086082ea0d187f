#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "mounter/index/index_builder.h"
#include "mounter/index/index_file.h"
#include "test/support/fake_listing.h"
#include "test/support/fake_object_store.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {

/// An index of made-up objects, and the objects in a store. The bytes are FakeContent.
class BuiltIndex {
 public:
  BuiltIndex(FakeObjectStore& store, const std::map<std::string, uint64_t>& sizes) {
    IndexBuildSettings settings;
    settings.directory = directory_.path();
    settings.source = "oss://b";
    settings.now = absl::FromUnixSeconds(1'700'000'000);
    auto builder = IndexBuilder::Create(std::move(settings));
    EXPECT_OK(builder);
    for (const auto& [key, size] : sizes) {
      const std::string etag = FakeETag(key);
      store.Put(key, FakeObject{.etag = etag, .size = size});
      EXPECT_OK((*builder)->Add(
          {ListedObject{.key = key, .etag = etag, .size = size, .modified_ms = 1'700'000'000'000}}));
    }
    auto manifest = (*builder)->Finish(IndexReport());
    EXPECT_OK(manifest);
    manifest_ = *std::move(manifest);
    auto table = ObjectTable::Open(directory_ / kTableName);
    EXPECT_OK(table);
    table_ = *std::move(table);
  }

  const IndexManifest& manifest() const { return manifest_; }
  const ObjectTable& table() const { return *table_; }
  std::string meta_path() const { return directory_ / kMetaName; }

  /// What must be on a device, computed from the table row by row.
  std::string Device(uint32_t device) const {
    std::string bytes(manifest_.devices.at(device).blocks * kIndexBlockBytes, '\0');
    for (uint64_t row = 0; row < table_->rows(); ++row) {
      const absl::StatusOr<ObjectExtent> extent = table_->At(row);
      EXPECT_OK(extent);
      if (extent->device != device) continue;
      FakeContent(extent->key, 0, absl::MakeSpan(bytes).subspan(extent->offset, extent->size));
    }
    return bytes;
  }

 private:
  TempDir directory_;
  IndexManifest manifest_;
  std::unique_ptr<ObjectTable> table_;
};

}  // namespace bucketvol::testing
