#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "mounter/base/executor.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol::testing {

/// A store whose GETs the test answers piece by piece, in its own thread. The objects' bytes are those of
/// Byte(). A GET that is cancelled ends by itself, on the executor. Not thread-safe.
class HandStore final : public ObjectStore {
 public:
  explicit HandStore(Executor& executor) : executor_(executor) {}

  static char Byte(uint64_t offset) { return static_cast<char>('a' + offset % 26); }
  static std::string Bytes(ByteRange range) {
    std::string bytes;
    for (uint64_t at = range.begin; at < range.end; ++at) bytes.push_back(Byte(at));
    return bytes;
  }

  void List(ListRequest, ListCallback) override {}
  void Head(std::string, HeadCallback) override {}
  void Get(GetRequest request, GetSink* sink) override {
    gets_.push_back({std::move(request), sink});
    OneGet& get = gets_.back();
    get.at = get.request.range.begin;
    if (!get.request.cancellation) return;
    get.action = get.request.cancellation->AddAction(
        [this, &get] { executor_.Post([this, &get] { End(get, absl::CancelledError("cancelled")); }); });
  }

  size_t count() const { return gets_.size(); }
  const GetRequest& request(size_t i) const { return gets_.at(i).request; }
  bool ended(size_t i) const { return gets_.at(i).sink == nullptr; }
  /// Whether all its bytes were given.
  bool whole(size_t i) const { return gets_.at(i).at == request(i).range.end; }
  bool cancelled(size_t i) const { return request(i).cancellation->cancelled(); }

  /// Gives the next bytes of a GET, if it has not ended. The version comes before the first.
  void Give(size_t i, uint64_t bytes) {
    OneGet& get = gets_.at(i);
    if (get.sink == nullptr) return;
    if (!std::exchange(get.begun, true)) get.sink->OnVersion(get.request.if_match);
    const std::string data = Bytes({get.at, std::min(get.at + bytes, get.request.range.end)});
    get.at += data.size();
    get.sink->OnData(data);
  }
  /// Ends it.
  void End(size_t i, absl::Status status) { End(gets_.at(i), std::move(status)); }
  /// Gives the rest and ends it well.
  void Finish(size_t i) {
    Give(i, gets_.at(i).request.range.end);
    End(i, absl::OkStatus());
  }

 private:
  struct OneGet {
    GetRequest request;
    GetSink* sink;
    uint64_t at = 0;
    uint64_t action = 0;
    bool begun = false;
  };

  void End(OneGet& get, absl::Status status) {
    GetSink* const sink = std::exchange(get.sink, nullptr);
    if (sink == nullptr) return;
    if (get.request.cancellation) get.request.cancellation->RemoveAction(get.action);
    sink->OnDone(std::move(status));
  }

  Executor& executor_;
  std::deque<OneGet> gets_;
};

}  // namespace bucketvol::testing
