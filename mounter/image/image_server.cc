#include "mounter/image/image_server.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {
namespace {

/// Zeros to send. Their pages are there before they are used: where the kernel copies an answer from a page
/// that is not, while this process is being killed, it gives the answer up and the reader gets an error.
absl::Span<const char> Zeros() {
  static const auto& zeros = *new std::string(64 << 10, '\0');
  return zeros;
}

/// The part of one object that a read covers.
struct Part {
  ObjectId object;
  uint64_t ordinal = 0;  // Of the object, in the order of the index.
  ByteRange inside;      // Of the object.
  uint64_t offset = 0;   // Where these bytes begin in the answer.
};

absl::StatusOr<std::vector<Part>> FindParts(const ObjectTable& table, uint32_t device, ByteRange range) {
  std::vector<Part> parts;
  for (uint64_t position = range.begin; position < range.end;) {
    ASSIGN_OR_RETURN(std::optional<ObjectExtent> extent, table.Find(device, position));
    if (!extent.has_value() || extent->offset >= range.end) break;
    const uint64_t begin = std::max(position, extent->offset);
    const uint64_t end = std::min(range.end, extent->offset + extent->size);
    if (begin >= end) return absl::DataLossError("object table does not go forward: damaged index");
    parts.push_back({{std::move(extent->key), std::move(extent->etag), extent->size},
                     extent->row,
                     {begin - extent->offset, end - extent->offset},
                     begin - range.begin});
    // The rest of an object's last block belongs to nobody.
    position = (end + kIndexBlockBytes - 1) / kIndexBlockBytes * kIndexBlockBytes;
  }
  return parts;
}

void AppendZeros(uint64_t length, std::vector<Piece>& pieces) {
  while (length > 0) {
    const uint64_t step = std::min<uint64_t>(length, Zeros().size());
    pieces.push_back(Zeros().subspan(0, step));
    length -= step;
  }
}

/// One read on its way. Answers when the last of its parts has come or failed.
class Gathering {
 public:
  Gathering(std::unique_ptr<ReadReply> reply, uint64_t length, std::vector<Part> parts, ReadMetrics& metrics)
      : reply_(std::move(reply)),
        length_(length),
        parts_(std::move(parts)),
        metrics_(metrics),
        answers_(parts_.size()),
        missing_(parts_.size()) {}

  const std::vector<Part>& parts() const { return parts_; }

  void Take(size_t part, absl::StatusOr<ReadData> data) {
    if (data.ok()) {
      answers_[part] = *std::move(data);
    } else if (!failed_.exchange(true, std::memory_order_acq_rel)) {
      error_ = std::move(data).status();
    }
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) Answer();
  }

  void Answer() {
    if (failed_.load(std::memory_order_acquire)) {
      ReadMetrics::Add(metrics_.errors, 1);
      reply_->SendError(error_);
      return;
    }
    const std::vector<Piece> pieces = Pieces();
    ReadMetrics::Add(metrics_.bytes, length_);
    ReadMetrics::Add(metrics_.padding, Padding());
    reply_->SendData(pieces);
  }

 private:
  uint64_t Padding() const {
    uint64_t padding = length_;
    for (const Part& part : parts_) padding -= part.inside.size();
    return padding;
  }

  std::vector<Piece> Pieces() const {
    std::vector<Piece> pieces;
    uint64_t position = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      AppendZeros(parts_[i].offset - position, pieces);
      for (const Slice& slice : answers_[i].slices) pieces.push_back(slice.bytes);
      position = parts_[i].offset + parts_[i].inside.size();
    }
    AppendZeros(length_ - position, pieces);
    return pieces;
  }

  const std::unique_ptr<ReadReply> reply_;
  const uint64_t length_;
  const std::vector<Part> parts_;
  ReadMetrics& metrics_;
  std::vector<ReadData> answers_;  // By part; each is written once, before `missing_` reaches zero.
  std::atomic<size_t> missing_;
  std::atomic<bool> failed_{false};
  absl::Status error_;  // Of the part that set failed_.
};

}  // namespace

ImageServer::ImageServer(const ObjectTable& table, std::vector<DataDevice> devices, Reader& reader,
                         ReadMetrics& metrics)
    : table_(table), devices_(std::move(devices)), reader_(reader), metrics_(metrics) {
  Zeros();  // Before the first read needs them.
}

std::vector<ServedFile> ImageServer::Files() const {
  std::vector<ServedFile> files;
  for (const DataDevice& device : devices_) {
    files.push_back({absl::StrCat("data", files.size()), device.blocks * kIndexBlockBytes});
  }
  return files;
}

void ImageServer::LogTableError(const absl::Status& error) {
  const uint64_t failures = table_errors_.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((failures & (failures - 1)) != 0) return;
  LogError("cannot tell which object is to be read: ", error.message(), " (failures so far: ", failures, ")");
}

void ImageServer::Read(FileId file, ByteRange range, std::unique_ptr<ReadReply> reply) {
  ReadMetrics::Add(metrics_.requests, 1);
  absl::StatusOr<std::vector<Part>> parts = FindParts(table_, file, range);
  if (!parts.ok()) {
    ReadMetrics::Add(metrics_.errors, 1);
    LogTableError(parts.status());
    reply->SendError(parts.status());
    return;
  }
  const auto gathering =
      std::make_shared<Gathering>(std::move(reply), range.size(), *std::move(parts), metrics_);
  if (gathering->parts().empty()) return gathering->Answer();
  for (size_t i = 0; i < gathering->parts().size(); ++i) {
    const Part& part = gathering->parts()[i];
    reader_.Read(part.object, part.inside, ReadContext{.ordinal = part.ordinal},
                 [gathering, i](absl::StatusOr<ReadData> data) { gathering->Take(i, std::move(data)); });
  }
}

}  // namespace bucketvol
