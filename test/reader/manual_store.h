#pragma once

#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "mounter/objstore/object_store.h"
#include "test/support/fake_listing.h"

namespace bucketvol::testing {

/// A store whose GETs the test itself answers, piece by piece, in its own thread. The bytes are FakeContent.
class ManualStore final : public ObjectStore {
 public:
  struct Started {
    GetRequest request;
    GetSink* sink = nullptr;
    uint64_t sent = 0;
  };

  void List(ListRequest, ListCallback done) override {
    std::move(done)(absl::UnimplementedError("not here"));
  }
  void Head(std::string, HeadCallback done) override {
    std::move(done)(absl::UnimplementedError("not here"));
  }
  void Get(GetRequest request, GetSink* sink) override { gets_.push_back({std::move(request), sink, 0}); }

  size_t count() const { return gets_.size(); }
  const GetRequest& request(size_t get) const { return gets_.at(get).request; }
  uint64_t Remaining(size_t get) const { return gets_.at(get).request.range.size() - gets_.at(get).sent; }

  bool InFlight(size_t get) const { return gets_.at(get).sink != nullptr; }

  void ObjectCrc64(size_t get, uint64_t crc) { gets_.at(get).sink->OnObjectCrc64(crc); }
  void Version(size_t get, absl::string_view etag) { gets_.at(get).sink->OnVersion(etag); }
  /// Sends the next `bytes` of a GET.
  void Send(size_t get, uint64_t bytes) {
    Started& started = gets_.at(get);
    std::string data(bytes, '\0');
    FakeContent(started.request.key, started.request.range.begin + started.sent, absl::MakeSpan(data));
    started.sent += bytes;
    GetSink* const sink = started.sink;
    sink->OnData(data);
  }
  /// Sends bytes that are not the object's.
  void SendWrong(size_t get, uint64_t bytes) {
    gets_.at(get).sent += bytes;
    gets_.at(get).sink->OnData(std::string(bytes, '!'));
  }
  void End(size_t get, const absl::Status& status) {
    std::exchange(gets_.at(get).sink, nullptr)->OnDone(status);
  }
  /// Sends the rest and ends well.
  void Complete(size_t get) {
    if (Remaining(get) > 0) Send(get, Remaining(get));
    End(get, absl::OkStatus());
  }
  /// Ends every GET that has not ended, as a store does that is cancelled.
  void CancelAll() {
    for (size_t get = 0; get < gets_.size(); ++get) {
      if (gets_[get].sink != nullptr) End(get, absl::CancelledError("cancelled"));
    }
  }

 private:
  std::vector<Started> gets_;
};

}  // namespace bucketvol::testing
