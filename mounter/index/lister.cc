#include "mounter/index/lister.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/lister_boundaries.h"
#include "mounter/index/lister_core.h"
#include "mounter/index/run_rows.h"

namespace bucketvol {
namespace {

constexpr size_t kMostBoundaries = 1024;

}  // namespace

struct Lister::Impl {
  Impl(ObjectStore& store, const Clock& clock, Executor& executor, ListerSettings settings)
      : boundaries(kMostBoundaries, static_cast<uint64_t>(settings.page_keys)),
        core(std::make_shared<ListerCore>(store, clock, executor, std::move(settings), progress)) {}

  absl::Status Drain(ListingSink& sink);
  absl::Status Deliver(const Batch& batch, ListingSink& sink);
  absl::Status Hand(absl::Span<const ListedObject> objects, ListingSink& sink);

  ListerProgress progress;
  BoundarySampler boundaries;
  RowReader reader;
  std::string rows;
  std::string last_key;
  bool any_key = false;
  const std::shared_ptr<ListerCore> core;
};

absl::Status Lister::Impl::Drain(ListingSink& sink) {
  while (true) {
    ASSIGN_OR_RETURN(const std::optional<Batch> batch, core->Next());
    if (!batch) return absl::OkStatus();
    RETURN_IF_ERROR(Deliver(*batch, sink));
  }
}

absl::Status Lister::Impl::Deliver(const Batch& batch, ListingSink& sink) {
  if (batch.page != nullptr) return Hand(absl::MakeSpan(batch.page->objects).first(batch.count), sink);
  const bool spilled = batch.spilled.bytes > 0;
  if (spilled) RETURN_IF_ERROR(core->ReadRows(batch, rows));
  RETURN_IF_ERROR(reader.Read(spilled ? rows : batch.rows, batch.count));
  return Hand(reader.objects(), sink);
}

absl::Status Lister::Impl::Hand(absl::Span<const ListedObject> objects, ListingSink& sink) {
  // Within a batch the order has been checked when the page came.
  if (any_key && objects.front().key <= last_key) {
    return absl::InternalError(absl::StrCat("parts of the listing overlap: \"",
                                            Printable(objects.front().key), "\" came after \"",
                                            Printable(last_key), "\""));
  }
  const absl::string_view last = objects.back().key;
  last_key.assign(last.data(), last.size());
  any_key = true;
  boundaries.Add(objects);
  return sink.Add(objects);
}

Lister::Lister(ObjectStore& store, const Clock& clock, Executor& executor, ListerSettings settings)
    : impl_(std::make_unique<Impl>(store, clock, executor, std::move(settings))) {}

Lister::~Lister() = default;

absl::Status Lister::Run(ListingSink& sink, std::shared_ptr<Cancellation> cancellation) {
  ListerCore& core = *impl_->core;
  uint64_t action = 0;
  if (cancellation != nullptr) {
    action =
        cancellation->AddAction([&core] { core.Stop(absl::CancelledError("the listing was cancelled")); });
  }
  absl::Cleanup quiet = [&] {
    if (cancellation != nullptr) cancellation->RemoveAction(action);
    core.Stop(absl::CancelledError("the listing has ended"));
    core.AwaitQuiet();
  };
  core.Start();
  return impl_->Drain(sink);
}

const ListerProgress& Lister::progress() const { return impl_->progress; }

uint64_t Lister::BoundaryDistance() const { return impl_->boundaries.step(); }

std::vector<std::string> Lister::Boundaries() const { return impl_->boundaries.boundaries(); }

}  // namespace bucketvol
