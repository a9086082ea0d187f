#include "mounter/cli/order_list.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "mounter/base/status_macros.h"
#include "mounter/image/row_finder.h"

namespace bucketvol {
namespace {

constexpr uint64_t kBytesAtOnce = 4 << 20;
constexpr size_t kMostLineBytes = 4096;  // More than any key has.

/// Keeps the body of a GET.
class TextSink final : public GetSink {
 public:
  void OnData(absl::Span<const char> data) override { text_.append(data.data(), data.size()); }
  void OnDone(absl::Status status) override {
    status_ = std::move(status);
    done_.Notify();
  }
  absl::StatusOr<std::string> Await() {
    done_.WaitForNotification();
    if (!status_.ok()) return status_;
    return std::move(text_);
  }

 private:
  std::string text_;
  absl::Status status_;
  absl::Notification done_;
};

absl::StatusOr<std::string> ReadText(ObjectStore& store, const ObjectExtent& object, ByteRange range,
                                     const std::shared_ptr<Cancellation>& cancellation) {
  TextSink sink;
  store.Get({.key = object.key,
             .range = range,
             .if_match = object.etag,
             .object_size = object.size,
             .cancellation = cancellation},
            &sink);
  return sink.Await();
}

/// Resolves the lines of a list.
class Resolver {
 public:
  Resolver(RowFinder& finder, const std::string& prefix, uint64_t most)
      : finder_(finder), prefix_(prefix), most_(most) {}

  absl::Status Take(absl::string_view line) {
    ++list_.lines;
    if (list_.rows.size() >= most_) {
      ++list_.left_out;
      return absl::OkStatus();
    }
    absl::ConsumePrefix(&line, "./");
    absl::ConsumePrefix(&line, "/");
    ASSIGN_OR_RETURN(const std::optional<uint64_t> row, finder_.Find(absl::StrCat(prefix_, line)));
    if (row && *row <= UINT32_MAX) {
      list_.rows.push_back(static_cast<uint32_t>(*row));
    } else {
      ++list_.unknown;
    }
    return absl::OkStatus();
  }
  OrderList Finish() { return std::move(list_); }

 private:
  RowFinder& finder_;
  const std::string& prefix_;
  const uint64_t most_;
  OrderList list_;
};

}  // namespace

absl::Status LineCutter::TakeLine(Take take) {
  if (absl::EndsWith(line_, "\r")) line_.pop_back();
  absl::Status taken = line_.empty() ? absl::OkStatus() : take(line_);
  line_.clear();
  return taken;
}

absl::Status LineCutter::Add(absl::string_view text, Take take) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const absl::string_view piece = text.substr(0, end);
    line_.append(piece.data(),
                 std::min(piece.size(), kMostLineBytes - std::min(line_.size(), kMostLineBytes)));
    if (end == absl::string_view::npos) return absl::OkStatus();
    RETURN_IF_ERROR(TakeLine(take));
    text.remove_prefix(end + 1);
  }
  return absl::OkStatus();
}

absl::Status LineCutter::Finish(Take take) { return TakeLine(take); }

absl::StatusOr<OrderList> ReadOrderList(ObjectStore& store, const ObjectTable& table,
                                        const std::string& prefix, absl::string_view name, uint64_t most,
                                        const std::shared_ptr<Cancellation>& cancellation) {
  absl::ConsumePrefix(&name, "/");
  RowFinder finder(table);
  ASSIGN_OR_RETURN(const std::optional<uint64_t> row, finder.Find(absl::StrCat(prefix, name)));
  if (!row) return absl::NotFoundError("the mount has no such file, or it is empty");
  ASSIGN_OR_RETURN(const ObjectExtent object, table.At(*row));
  Resolver resolver(finder, prefix, most);
  const auto take = [&](absl::string_view line) { return resolver.Take(line); };
  LineCutter lines;
  for (uint64_t at = 0; at < object.size && !cancellation->cancelled(); at += kBytesAtOnce) {
    const ByteRange range{at, std::min(object.size, at + kBytesAtOnce)};
    ASSIGN_OR_RETURN(const std::string text, ReadText(store, object, range, cancellation));
    RETURN_IF_ERROR(lines.Add(text, take));
  }
  RETURN_IF_ERROR(lines.Finish(take));
  return resolver.Finish();
}

}  // namespace bucketvol
