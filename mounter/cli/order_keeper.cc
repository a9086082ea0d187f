#include "mounter/cli/order_keeper.h"

#include <utility>

#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"

namespace bucketvol {

OrderKeeper::OrderKeeper(Reader& reader, const ObjectTable& table, Settings settings)
    : reader_(reader), table_(table), settings_(std::move(settings)) {}

void OrderKeeper::Begin() {
  if (table_.rows() == 0 || table_.rows() > OrderRecorder::kMostObjects) return;
  const absl::Status loaded = Load();
  if (!loaded.ok()) return LogWarning("the order of reading is not recorded: ", loaded.message());
  if (!recorder_) recorder_.emplace(table_.rows(), settings_.most);
}

// An order that cannot be used is one that is not there.
absl::Status OrderKeeper::Load() {
  ASSIGN_OR_RETURN(subject_, OrderSubject::Of(table_));
  absl::StatusOr<StoredOrder> order = ReadOrder(settings_.directory, subject_, settings_.most);
  if (!order.ok()) {
    if (!absl::IsNotFound(order.status())) LogInfo("not followed: ", order.status().message());
    return absl::OkStatus();
  }
  kept_ = {.objects = order->rows.size()};
  if (order->open && settings_.epoch == Settings::Epoch::kGoesOn) RETURN_IF_ERROR(GoOn(order->rows));
  Follow(std::move(order->rows));
  return absl::OkStatus();
}

// The rows are copied into a file of our own: whoever wrote that one may live.
absl::Status OrderKeeper::GoOn(std::vector<uint32_t> rows) {
  recorder_.emplace(table_.rows(), settings_.most);
  recorder_->Resume(rows);
  RETURN_IF_ERROR(Store(rows));
  kept_.of_this_run = true;
  return absl::OkStatus();
}

void OrderKeeper::Follow(std::vector<uint32_t> rows) {
  followed_ = std::make_shared<const ObjectOrder>(std::move(rows));
  match_.emplace(followed_->ordinals().size(), OrderTrust::kProven);
  reader_.FollowOrder(followed_, OrderTrust::kProven);
}

void OrderKeeper::Tick() {
  const std::vector<uint32_t> touches = reader_.TakeTouches();
  if (touches.empty() || !recorder_) return;
  const absl::Status recorded = Record(touches);
  if (recorded.ok()) return;
  LogWarning("the order of reading is not recorded any more: ", recorded.message());
  recorder_.reset();
  file_.reset();
}

absl::Status OrderKeeper::Record(absl::Span<const uint32_t> touches) {
  std::vector<uint32_t> added;
  for (const uint32_t touch : touches) {
    const OrderRecorder::Step step = recorder_->Add(touch);
    if (step.new_epoch) {
      RETURN_IF_ERROR(Store(added));
      RETURN_IF_ERROR(EndEpoch());
    }
    added.insert(added.end(), step.added.begin(), step.added.end());
    const bool follows = match_ && match_->Note(followed_->PositionOf(touch));
    made_.followed += follows ? step.added.size() : 0;
  }
  return Store(added);
}

// Leaves `added` empty.
absl::Status OrderKeeper::Store(std::vector<uint32_t>& added) {
  if (added.empty()) return absl::OkStatus();
  if (!file_) {
    ASSIGN_OR_RETURN(OrderFile file, OrderFile::Create(settings_.directory, subject_));
    file_.emplace(std::move(file));
  }
  RETURN_IF_ERROR(file_->Append(added));
  added.clear();
  made_.objects = file_->count();
  if (!file_->published() && !TakesPlaceOf(made_, kept_)) return absl::OkStatus();
  RETURN_IF_ERROR(file_->Commit(/*open=*/true));
  kept_ = {.objects = made_.objects, .of_this_run = true};
  return absl::OkStatus();
}

absl::Status OrderKeeper::EndEpoch() {
  if (file_ && file_->published()) {
    RETURN_IF_ERROR(file_->Commit(/*open=*/false));
    ASSIGN_OR_RETURN(StoredOrder order, ReadOrder(settings_.directory, subject_, settings_.most));
    Follow(std::move(order.rows));
  }
  file_.reset();
  made_ = {};
  return absl::OkStatus();
}

}  // namespace bucketvol
