// The slow reader of listings, for whatever XML allows.

#include <cstring>

#include "mounter/base/status_macros.h"
#include "mounter/objstore/expat_document.h"
#include "mounter/objstore/raw_list_page.h"

namespace bucketvol {
namespace {

class ListHandler final : public XmlHandler {
 public:
  ListHandler(char* arena, size_t capacity, RawListPage& page)
      : arena_(arena), capacity_(capacity), page_(page) {}

  void OnOpen(const std::vector<std::string>& path) override {
    if (path.size() == 1) right_root_ = path[0] == "ListBucketResult";
    if (path.size() == 2 && path[1] == "Contents") entry_ = {};
    if (path.size() == 2 && path[1] == "CommonPrefixes") prefix_ = {};
    if (Target(path) == nullptr) return;
    text_begin_ = used_;
    collecting_ = true;
  }

  void OnText(absl::string_view text) override {
    if (!collecting_ || text.size() > capacity_ - used_) return;
    std::memcpy(arena_ + used_, text.data(), text.size());
    used_ += text.size();
  }

  void OnClose(const std::vector<std::string>& path) override {
    if (absl::string_view* const target = Target(path)) {
      *target = {arena_ + text_begin_, used_ - text_begin_};
      collecting_ = false;
    }
    if (path.size() != 2 || !error_.ok()) return;
    if (path[1] == "Contents") error_ = page_.AddEntry(entry_);
    if (path[1] == "CommonPrefixes") error_ = page_.AddPrefix(prefix_);
  }

  absl::Status Result() const {
    if (!right_root_) return absl::DataLossError("the answer is XML but no listing");
    return error_;
  }

 private:
  // Where the text of the element goes; null when it is not for us.
  absl::string_view* Target(const std::vector<std::string>& path) {
    if (path.size() == 2) return RootTarget(path[1]);
    if (path.size() != 3) return nullptr;
    if (path[1] == "CommonPrefixes") return path[2] == "Prefix" ? &prefix_ : nullptr;
    return path[1] == "Contents" ? EntryTarget(path[2]) : nullptr;
  }

  absl::string_view* RootTarget(absl::string_view name) {
    if (name == "IsTruncated") return &page_.truncated;
    if (name == "KeyCount") return &page_.key_count;
    if (name == "EncodingType") return &page_.encoding_type;
    if (name == "NextMarker") return &page_.next_marker;
    if (name == "NextContinuationToken") return &page_.next_token;
    return nullptr;
  }

  absl::string_view* EntryTarget(absl::string_view name) {
    if (name == "Key") return &entry_.key;
    if (name == "LastModified") return &entry_.modified;
    if (name == "ETag") return &entry_.etag;
    if (name == "Size") return &entry_.size;
    if (name == "StorageClass") return &entry_.storage_class;
    if (name == "Type") return &entry_.type;
    if (name == "RestoreInfo") return &entry_.restore;
    return nullptr;
  }

  char* const arena_;
  const size_t capacity_;
  RawListPage& page_;
  size_t used_ = 0;
  size_t text_begin_ = 0;
  bool collecting_ = false;
  bool right_root_ = false;
  RawListEntry entry_;
  absl::string_view prefix_;
  absl::Status error_;
};

}  // namespace

absl::Status ReadListPageWithExpat(absl::string_view document, char* arena, RawListPage& page) {
  page.may_hold_entities = false;
  ListHandler handler(arena, 2 * document.size(), page);
  RETURN_IF_ERROR(ReadXml(document, handler));
  return handler.Result();
}

}  // namespace bucketvol
