#include "mounter/objstore/waiting_room.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace bucketvol {

struct WaitingRoom::State : std::enable_shared_from_this<State> {
  struct Seat {
    Then then;
    std::shared_ptr<Cancellation> cancellation;
    uint64_t action = 0;
  };

  explicit State(Executor& e) : executor(e) {}

  // Gives `then` a seat; nullopt, with `then` untouched, when the room is closed.
  std::optional<uint64_t> Sit(Then& then, const std::shared_ptr<Cancellation>& cancellation) {
    absl::MutexLock lock(&mu);
    if (closed) return std::nullopt;
    seats.emplace(next_id, Seat{std::move(then), cancellation, 0});
    return next_id++;
  }

  // Takes a seat out and goes on with `status`; does nothing when another reason was faster.
  void Leave(uint64_t id, absl::Status status) {
    Seat seat;
    {
      absl::MutexLock lock(&mu);
      const auto found = seats.find(id);
      if (found == seats.end()) return;
      seat = std::move(found->second);
      seats.erase(found);
    }
    if (seat.cancellation) seat.cancellation->RemoveAction(seat.action);
    std::move(seat.then)(std::move(status));
  }

  // The action runs under the Cancellation's lock, so the rest happens elsewhere.
  void WatchCancellation(uint64_t id, const std::shared_ptr<Cancellation>& cancellation) {
    const uint64_t action = cancellation->AddAction([self = shared_from_this(), id] {
      self->executor.Post([self, id] { self->Leave(id, absl::CancelledError("the request was cancelled")); });
    });
    {
      absl::MutexLock lock(&mu);
      const auto found = seats.find(id);
      if (found != seats.end()) {
        found->second.action = action;
        return;
      }
    }
    cancellation->RemoveAction(action);
  }

  Executor& executor;
  absl::Mutex mu;  // Leaf.
  bool closed ABSL_GUARDED_BY(mu) = false;
  uint64_t next_id ABSL_GUARDED_BY(mu) = 1;
  absl::flat_hash_map<uint64_t, Seat> seats ABSL_GUARDED_BY(mu);
};

WaitingRoom::WaitingRoom(Executor& executor) : state_(std::make_shared<State>(executor)) {}

WaitingRoom::~WaitingRoom() { Close(); }

void WaitingRoom::Wait(absl::Duration delay, const std::shared_ptr<Cancellation>& cancellation, Then then) {
  // A room that closes meanwhile may destroy this object's owner: only the shared state is touched.
  const std::shared_ptr<State> state = state_;
  const std::optional<uint64_t> id = state->Sit(then, cancellation);
  if (!id) return std::move(then)(absl::CancelledError("the object store is shutting down"));
  if (cancellation) state->WatchCancellation(*id, cancellation);
  state->executor.PostAfter(delay, [state, id = *id] { state->Leave(id, absl::OkStatus()); });
}

void WaitingRoom::Close() {
  absl::flat_hash_map<uint64_t, State::Seat> seats;
  {
    absl::MutexLock lock(&state_->mu);
    state_->closed = true;
    seats.swap(state_->seats);
  }
  for (auto& [id, seat] : seats) {
    if (seat.cancellation) seat.cancellation->RemoveAction(seat.action);
    std::move(seat.then)(absl::CancelledError("the object store is shutting down"));
  }
}

}  // namespace bucketvol
