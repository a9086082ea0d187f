#include "test/support/fake_object_store.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"

namespace bucketvol::testing {
namespace {

constexpr size_t kChunkBytes = 64 * 1024;

}  // namespace

struct FakeObjectStore::Pending {
  uint64_t id = 0;
  FakeRequest request;
  ListCallback on_list;
  GetSink* sink = nullptr;
  HeadCallback on_head;
  std::atomic<uint64_t> cancel_action{0};
  std::atomic<bool> taken{false};  // Whoever sets it answers; nobody else touches the store on its behalf.

  Cancellation* cancellation() const {
    return request.op == FakeRequest::Op::kGet ? request.get.cancellation.get()
                                               : request.list.cancellation.get();
  }
};

FakeObjectStore::FakeObjectStore(Executor& executor) : executor_(executor), content_(FakeContent) {}

FakeObjectStore::~FakeObjectStore() {
  std::vector<std::shared_ptr<Pending>> pending;
  {
    absl::MutexLock lock(&mu_);
    for (const auto& [id, entry] : pending_) pending.push_back(entry);
  }
  for (const auto& entry : pending) Finish(entry, absl::CancelledError("the store is closing"));
  absl::MutexLock lock(&mu_);
  const auto empty = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return pending_.empty(); };
  mu_.Await(absl::Condition(&empty));
}

void FakeObjectStore::Put(const std::string& key, std::string data, std::string etag) {
  FakeEntry entry;
  entry.object.etag = etag.empty() ? FakeETag(data) : std::move(etag);
  entry.object.size = data.size();
  entry.data = std::move(data);
  absl::MutexLock lock(&mu_);
  objects_.insert_or_assign(key, std::move(entry));
}

void FakeObjectStore::Put(const std::string& key, FakeObject object) {
  absl::MutexLock lock(&mu_);
  objects_.insert_or_assign(key, FakeEntry{std::move(object), std::nullopt});
}

void FakeObjectStore::Delete(const std::string& key) {
  absl::MutexLock lock(&mu_);
  objects_.erase(key);
}

void FakeObjectStore::SetSequence(std::shared_ptr<const KeySequence> keys) {
  absl::MutexLock lock(&mu_);
  sequence_ = std::move(keys);
}

void FakeObjectStore::SetContent(Content content) { content_ = std::move(content); }

void FakeObjectStore::SetLatency(std::function<absl::Duration(const FakeRequest&)> latency) {
  latency_ = std::move(latency);
}
void FakeObjectStore::SetObserver(std::function<void(const FakeRequest&)> observer) {
  observer_ = std::move(observer);
}
void FakeObjectStore::SetListFault(std::function<absl::Status(const ListRequest&, ListPage&)> fault) {
  list_fault_ = std::move(fault);
}
void FakeObjectStore::SetGetFault(std::function<std::optional<GetFault>(const GetRequest&)> fault) {
  get_fault_ = std::move(fault);
}
void FakeObjectStore::SetMaxPageKeys(int keys) { max_page_keys_ = keys; }

void FakeObjectStore::Hold() {
  absl::MutexLock lock(&mu_);
  holding_ = true;
}

void FakeObjectStore::Release() {
  std::vector<std::shared_ptr<Pending>> held;
  {
    absl::MutexLock lock(&mu_);
    holding_ = false;
    held.swap(held_);
  }
  for (const auto& pending : held) Schedule(pending);
}

void FakeObjectStore::AwaitHeld(size_t count) {
  absl::MutexLock lock(&mu_);
  const auto enough = [this, count]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return held_.size() >= count; };
  mu_.Await(absl::Condition(&enough));
}

std::vector<FakeRequest> FakeObjectStore::Requests() const {
  absl::MutexLock lock(&mu_);
  return requests_;
}

size_t FakeObjectStore::Count(FakeRequest::Op op) const {
  absl::MutexLock lock(&mu_);
  return counts_[static_cast<int>(op)];
}

size_t FakeObjectStore::in_flight() const {
  absl::MutexLock lock(&mu_);
  return pending_.size();
}

size_t FakeObjectStore::peak_in_flight() const {
  absl::MutexLock lock(&mu_);
  return peak_;
}

void FakeObjectStore::ForgetRequests() {
  absl::MutexLock lock(&mu_);
  keep_requests_ = false;
  requests_.clear();
}

void FakeObjectStore::List(ListRequest request, ListCallback done) {
  auto pending = std::make_shared<Pending>();
  pending->request = {.op = FakeRequest::Op::kList, .list = std::move(request), .get = {}, .key = {}};
  pending->on_list = std::move(done);
  Begin(std::move(pending));
}

void FakeObjectStore::Get(GetRequest request, GetSink* sink) {
  auto pending = std::make_shared<Pending>();
  pending->request.op = FakeRequest::Op::kGet;
  pending->request.key = request.key;
  pending->request.get = std::move(request);
  pending->sink = sink;
  Begin(std::move(pending));
}

void FakeObjectStore::Head(std::string key, HeadCallback done) {
  auto pending = std::make_shared<Pending>();
  pending->request.op = FakeRequest::Op::kHead;
  pending->request.key = std::move(key);
  pending->on_head = std::move(done);
  Begin(std::move(pending));
}

void FakeObjectStore::Begin(std::shared_ptr<Pending> pending) {
  bool held = false;
  {
    absl::MutexLock lock(&mu_);
    pending->id = next_id_++;
    pending_.emplace(pending->id, pending);
    peak_ = std::max(peak_, pending_.size());
    ++counts_[static_cast<int>(pending->request.op)];
    if (keep_requests_) requests_.push_back(pending->request);
    held = holding_;
  }
  if (Cancellation* cancellation = pending->cancellation()) {
    pending->cancel_action = cancellation->AddAction([this, pending] {
      executor_.Post([this, pending] { Finish(pending, absl::CancelledError("cancelled")); });
    });
  }
  if (!held) return Schedule(pending);
  absl::MutexLock lock(&mu_);
  held_.push_back(pending);
}

void FakeObjectStore::Schedule(const std::shared_ptr<Pending>& pending) {
  const absl::Duration latency = latency_ ? latency_(pending->request) : absl::ZeroDuration();
  const absl::Duration deadline = pending->request.list.deadline;
  absl::Status failure;
  if (latency > deadline) failure = absl::DeadlineExceededError("no answer within the deadline");
  executor_.PostAfter(std::min(latency, deadline), [this, pending, failure] { Finish(pending, failure); });
}

void FakeObjectStore::Finish(const std::shared_ptr<Pending>& pending, const absl::Status& failure) {
  if (pending->taken.exchange(true)) return;
  if (Cancellation* cancellation = pending->cancellation())
    cancellation->RemoveAction(pending->cancel_action);
  Answer(*pending, failure);
  absl::MutexLock lock(&mu_);
  pending_.erase(pending->id);
}

void FakeObjectStore::Answer(Pending& pending, const absl::Status& failure) {
  const FakeRequest& request = pending.request;
  if (failure.ok() && observer_) observer_(request);
  switch (request.op) {
    case FakeRequest::Op::kList: {
      absl::StatusOr<ListPage> page = failure.ok() ? MakePage(request.list) : failure;
      if (page.ok() && list_fault_) {
        if (absl::Status fault = list_fault_(request.list, *page); !fault.ok()) page = fault;
      }
      return std::move(pending.on_list)(std::move(page));
    }
    case FakeRequest::Op::kHead: {
      if (!failure.ok()) return std::move(pending.on_head)(failure);
      const absl::StatusOr<FakeEntry> entry = Find(request.key);
      if (!entry.ok()) return std::move(pending.on_head)(entry.status());
      const FakeObject& object = entry->object;
      return std::move(pending.on_head)(ObjectInfo{object.etag, object.size, object.modified_ms});
    }
    case FakeRequest::Op::kGet:
      if (!failure.ok()) return pending.sink->OnDone(failure);
      return AnswerGet(pending);
  }
}

void FakeObjectStore::AnswerGet(Pending& pending) {
  const GetRequest& request = pending.request.get;
  const absl::StatusOr<FakeEntry> entry = Find(request.key);
  if (!entry.ok()) return pending.sink->OnDone(entry.status());
  if (absl::Status check = CheckGet(request, entry->object); !check.ok()) return pending.sink->OnDone(check);
  GetFault fault;
  if (get_fault_) fault = get_fault_(request).value_or(GetFault{});
  const uint64_t end = fault.status.ok()
                           ? request.range.end
                           : std::min(request.range.end, request.range.begin + fault.after_bytes);
  pending.sink->OnVersion(entry->object.etag);
  std::vector<char> chunk;
  for (uint64_t at = request.range.begin; at < end; at += chunk.size()) {
    chunk.resize(std::min<uint64_t>(kChunkBytes, end - at));
    Read(request.key, *entry, at, absl::MakeSpan(chunk));
    pending.sink->OnData(chunk);
  }
  pending.sink->OnDone(fault.status);
}

absl::Status FakeObjectStore::CheckGet(const GetRequest& request, const FakeObject& object) const {
  if (!request.if_match.empty() && request.if_match != object.etag) {
    return absl::FailedPreconditionError(absl::StrCat("the object has another ETag: ", request.key));
  }
  if (request.range.end > object.size || request.object_size.value_or(object.size) != object.size) {
    return absl::FailedPreconditionError(absl::StrCat("the object has another size: ", request.key));
  }
  return absl::OkStatus();
}

void FakeObjectStore::Read(const std::string& key, const FakeEntry& entry, uint64_t offset,
                           absl::Span<char> out) const {
  if (entry.data) {
    std::memcpy(out.data(), entry.data->data() + offset, out.size());
  } else {
    content_(key, offset, out);
  }
}

absl::StatusOr<FakeEntry> FakeObjectStore::Find(const std::string& key) const {
  absl::MutexLock lock(&mu_);
  if (const auto found = objects_.find(key); found != objects_.end()) return found->second;
  if (sequence_ != nullptr) {
    std::string at;
    const uint64_t index = sequence_->LowerBound(key);
    if (index < sequence_->size()) sequence_->KeyAt(index, at);
    if (index < sequence_->size() && at == key) return FakeEntry{FakeMetadata(key), std::nullopt};
  }
  return absl::NotFoundError(absl::StrCat("no such key: ", key));
}

absl::StatusOr<ListPage> FakeObjectStore::MakePage(const ListRequest& request) const {
  absl::MutexLock lock(&mu_);
  return MakeListPage(request, std::min(request.max_keys, max_page_keys_), objects_, sequence_.get());
}

}  // namespace bucketvol::testing
