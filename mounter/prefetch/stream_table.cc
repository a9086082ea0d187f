#include "mounter/prefetch/stream_table.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "mounter/prefetch/parts.h"
#include "mounter/prefetch/stream.h"
#include "mounter/prefetch/stride_detector.h"
#include "mounter/prefetch/whole_sweep.h"

namespace bucketvol {

namespace {

constexpr int kDecidingDescents = 3;
// Runs that readers left for another place, each this long, before the whole object is fetched.
constexpr uint64_t kLongRun = 2 << 20;
constexpr int kRunsLeft = 4;
constexpr int kPartsLeft = 2;                       // When the object is known to be made of parts.
constexpr absl::Duration kIdle = absl::Seconds(9);  // With a look each second: 10 at most.
constexpr absl::Duration kLeftBehind = absl::Seconds(1);
// A gap is read through when a request of its own would cost as much.
constexpr uint64_t kReadThrough = 1 << 20;
constexpr uint64_t kLongestPiece = 16 << 20;             // Fetched at the first touch of a piece.
constexpr uint64_t kLargestSwept = uint64_t{256} << 30;  // The notes about it take 4 MiB.

}  // namespace

class StreamTable::Impl {
 public:
  Impl(uint64_t size, const StreamSettings& settings)
      : size_(size),
        mirror_((size + settings.part_max - 1) / settings.part_max * settings.part_max),
        settings_(settings),
        strides_(size),
        sweep_(size) {}

  Plan Note(StreamRead read, uint64_t object_limit);
  void SetBoundaries(std::vector<uint64_t> offsets) { boundaries_ = std::move(offsets); }
  std::vector<ByteRange> Abandoned(absl::Duration now);
  uint64_t ScheduledAhead() const;
  int active_streams() const;
  uint64_t streams_begun() const { return streams_begun_; }

 private:
  // Streams of descending readers live in a mirror.
  struct Slot {
    Stream stream;
    bool mirrored;
    bool left = false;  // A reader jumped elsewhere from here, and nobody went on since.
  };

  ByteRange Mirrored(ByteRange range) const { return {mirror_ - range.end, mirror_ - range.begin}; }
  StreamRead InMirror(StreamRead read) const {
    read.range = Mirrored(read.range);
    return read;
  }
  ByteRange Seen(const Slot& slot, ByteRange range) const { return slot.mirrored ? Mirrored(range) : range; }
  Slot* Match(ByteRange read);
  Slot* Begin(const StreamRead& read, Plan& plan);
  void Turn(Slot& slot, const StreamRead& read, Plan& plan);
  void NoteIn(Slot& slot, const StreamRead& read, Plan& plan);
  void NoteJump(const StreamRead& read, const Slot* match);
  void BeginNotes();
  void NotePlan(const StreamRead& read, Plan& plan);
  uint64_t NextRun(const Slot& of, absl::Duration now) const;
  bool WantWhole();
  std::optional<uint64_t> PartEnd(ByteRange read) const;
  uint64_t UsualPiece() const;
  uint64_t PieceEnd(const StreamRead& read, uint64_t object_limit) const;
  Slot& Place(Slot slot);
  std::vector<ByteRange> AbandonAll();

  const uint64_t size_;
  const uint64_t mirror_;  // Where offset 0 is in the mirror. A multiple of every part.
  const StreamSettings settings_;
  std::vector<Slot> slots_;
  std::vector<uint64_t> boundaries_;
  StrideDetector strides_;
  WholeSweep sweep_;
  bool sweeping_ = false;
  size_t advanced_ = 0;  // The slot that got farther last.
  absl::Duration last_use_;
  uint64_t streams_begun_ = 0;
};

// Where the piece ends that a reader has come to, from its boundaries, or as long as others were. A page
// fault is read around: the read may begin in the piece before.
std::optional<uint64_t> StreamTable::Impl::PartEnd(ByteRange read) const {
  const auto next = std::upper_bound(boundaries_.begin(), boundaries_.end(), read.end - 1);
  if (next != boundaries_.begin() && next != boundaries_.end()) return std::min(*next, size_);
  if (!sweeping_) return std::nullopt;
  return std::min(size_, read.begin + UsualPiece());
}

// The median: a run that went on into the next piece is not usual.
uint64_t StreamTable::Impl::UsualPiece() const {
  std::vector<uint64_t> runs;
  for (const Slot& slot : slots_) {
    if (slot.left) runs.push_back(slot.stream.run());
  }
  if (runs.empty()) return kLongRun;
  std::nth_element(runs.begin(), runs.begin() + static_cast<ptrdiff_t>(runs.size() / 2), runs.end());
  return std::clamp(runs[runs.size() / 2], kLongRun, kLongestPiece);
}

// How far a stream may be fetched ahead where readers take pieces: to the end of one, and not beyond the
// limit, because what lies there waits long for its reader. The sweep leaves some of the limit to this.
uint64_t StreamTable::Impl::PieceEnd(const StreamRead& read, uint64_t object_limit) const {
  if (!sweeping_ || !boundaries_.empty()) return UINT64_MAX;
  const uint64_t left = object_limit - std::min(object_limit, sweep_.unread_bytes());
  return read.range.end + std::min(UsualPiece(), left);
}

StreamTable::Impl::Slot* StreamTable::Impl::Match(ByteRange read) {
  Slot* best = nullptr;
  uint64_t least = UINT64_MAX;
  for (Slot& slot : slots_) {
    const std::optional<uint64_t> distance = slot.stream.Distance(Seen(slot, read));
    if (!distance || *distance >= least) continue;
    least = *distance;
    best = &slot;
  }
  return best;
}

// Replaces the stream that was used least recently when there is no room.
StreamTable::Impl::Slot& StreamTable::Impl::Place(Slot slot) {
  if (slots_.size() < static_cast<size_t>(std::max(settings_.max_streams, 1)))
    return slots_.emplace_back(std::move(slot));
  const auto oldest = std::min_element(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) {
    return a.stream.last_use() < b.stream.last_use();
  });
  *oldest = std::move(slot);
  return *oldest;
}

StreamTable::Impl::Slot* StreamTable::Impl::Begin(const StreamRead& read, Plan& plan) {
  const bool head = read.range.begin == 0;
  Slot& slot = Place({Stream(settings_, size_, head ? std::nullopt : PartEnd(read.range), read), false});
  if (head) {
    slot.stream.Promote(settings_.window_start, read.now);
    plan.new_stream = true;
  }
  return &slot;
}

void StreamTable::Impl::NoteIn(Slot& slot, const StreamRead& read, Plan& plan) {
  if (!slot.mirrored) return slot.stream.Note(read, plan);
  Plan seen;
  slot.stream.Note(InMirror(read), seen);
  plan.demand = Mirrored(seen.demand);
  plan.demand.end = std::min(plan.demand.end, size_);  // Widened beyond the mirror's edge.
  plan.new_stream = seen.new_stream;
  for (const ByteRange& part : seen.ahead) plan.ahead.push_back(Mirrored(part));
}

// From here on the reader is followed downwards.
void StreamTable::Impl::Turn(Slot& slot, const StreamRead& read, Plan& plan) {
  const StreamRead seen = InMirror(read);
  Stream turned(settings_, mirror_, std::nullopt, seen);
  turned.Promote(settings_.window_start, read.now);
  slot = {std::move(turned), true};
  plan.new_stream = true;
}

// Notes how readers get from one place to another. A long run that ends in a jump to what is not there yet
// tells of a reader that takes pieces of the object in its own order.
void StreamTable::Impl::NoteJump(const StreamRead& read, const Slot* match) {
  const bool follows =
      match != nullptr && Seen(*match, read.range).begin <= match->stream.expected() + kReadThrough;
  if (follows) return strides_.OnNext(read.range);
  strides_.OnJump(read.range);
  if (read.stall != Stall::kAbsent || advanced_ >= slots_.size()) return;
  if (slots_[advanced_].stream.run() < kLongRun) return;
  slots_[advanced_].left = true;
  if (!sweep_.started() && size_ <= kLargestSwept) BeginNotes();
}

// What was read before anybody jumped.
void StreamTable::Impl::BeginNotes() {
  for (const Slot& slot : slots_) {
    const ByteRange run = Seen(slot, {slot.stream.begin(), slot.stream.expected()});
    const ByteRange seen{run.begin, std::min(run.end, size_)};
    if (!seen.empty()) sweep_.OnRead(seen, /*absent=*/false);
  }
}

// Several readers that share an object have a region each, one behind the other.
uint64_t StreamTable::Impl::NextRun(const Slot& of, absl::Duration now) const {
  uint64_t next = UINT64_MAX;
  if (of.mirrored) return next;
  for (const Slot& slot : slots_) {
    const Stream& other = slot.stream;
    const bool counts = &slot != &of && !slot.mirrored && other.promoted() && now - other.last_use() < kIdle;
    if (counts && other.begin() >= of.stream.expected()) next = std::min(next, other.begin());
  }
  return next;
}

bool StreamTable::Impl::WantWhole() {
  if (sweeping_ || !sweep_.started()) return sweeping_;
  const auto left = std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.left; });
  // Most runs are long: a few are by chance.
  const bool usual = 2 * static_cast<size_t>(left) >= slots_.size();
  sweeping_ = usual && left >= (boundaries_.empty() ? kRunsLeft : kPartsLeft);
  return sweeping_;
}

// Where the whole is wanted, what was read is not fetched again: a window that reaches into the next piece
// would do that.
void StreamTable::Impl::NotePlan(const StreamRead& read, Plan& plan) {
  if (WantWhole()) {
    plan.ahead = sweep_.Unread(plan.ahead);
    plan.demand.end = sweep_.UnreadEnd(plan.demand, read.range.end);
  }
  sweep_.OnPlanned(plan.demand);
  for (const ByteRange& range : plan.ahead) sweep_.OnPlanned(range);
}

Plan StreamTable::Impl::Note(StreamRead read, uint64_t object_limit) {
  Plan plan;
  plan.demand = read.range;
  if (size_ <= settings_.whole_object_bytes) {
    plan.demand = {0, size_};
    return plan;
  }
  if (settings_.ahead == StreamSettings::Ahead::kOff) return plan;
  last_use_ = read.now;
  read.streams = std::max(active_streams(), 1);
  read.sharing = std::max(read.streams, read.link.streams);
  Slot* slot = Match(read.range);
  NoteJump(read, slot);
  if (sweep_.started()) sweep_.OnRead(read.range, read.stall == Stall::kAbsent);
  if (slot == nullptr) slot = Begin(read, plan);
  read.next_run = std::min(NextRun(*slot, read.now), PieceEnd(read, object_limit));
  const bool began = plan.new_stream;
  const uint64_t expected = slot->stream.expected();
  NoteIn(*slot, read, plan);
  if (!slot->mirrored && slot->stream.descents() >= kDecidingDescents) {
    Turn(*slot, read, plan);
    NoteIn(*slot, read, plan);
    plan.new_stream = true;
  }
  plan.new_stream |= began;
  if (plan.new_stream) ++streams_begun_;
  if (slot->stream.expected() > expected) {
    slot->left = false;
    advanced_ = static_cast<size_t>(slot - slots_.data());
  }
  for (const ByteRange& piece : strides_.Ahead(read.stall, read.window_limit)) plan.ahead.push_back(piece);
  if (sweep_.started()) NotePlan(read, plan);
  if (sweeping_) sweep_.Plan(read.link, settings_.part_max, object_limit / 8 * 7, read.now, plan.ahead);
  return plan;
}

// While readers want the whole, nothing is given up that they will come to.
std::vector<ByteRange> StreamTable::Impl::Abandoned(absl::Duration now) {
  if (sweeping_ && now - last_use_ >= kIdle) return AbandonAll();
  std::vector<ByteRange> left;
  for (Slot& slot : slots_) {
    const absl::Duration last = slot.stream.last_use();
    if (!slot.stream.active() || (now - last < kIdle && last_use_ - last < kLeftBehind)) continue;
    const ByteRange rest = slot.stream.Abandon();
    if (rest.empty() || sweeping_) continue;
    left.push_back(Seen(slot, rest));
    if (sweep_.started()) sweep_.Replan(left.back());
  }
  return left;
}

std::vector<ByteRange> StreamTable::Impl::AbandonAll() {
  std::vector<ByteRange> left;
  for (Slot& slot : slots_) {
    if (slot.stream.ahead() > 0) left.push_back(Seen(slot, slot.stream.Abandon()));
  }
  slots_.clear();
  for (const ByteRange& range : sweep_.Abandon()) left.push_back(range);
  return left;
}

uint64_t StreamTable::Impl::ScheduledAhead() const {
  if (sweeping_) return sweep_.unread_bytes();
  uint64_t bytes = 0;
  for (const Slot& slot : slots_) bytes += slot.stream.ahead();
  return bytes;
}

int StreamTable::Impl::active_streams() const {
  return static_cast<int>(
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.stream.active(); }));
}

StreamTable::StreamTable(uint64_t object_size, const StreamSettings& settings)
    : impl_(std::make_unique<Impl>(object_size, settings)) {}
StreamTable::~StreamTable() = default;
StreamTable::StreamTable(StreamTable&&) noexcept = default;
StreamTable& StreamTable::operator=(StreamTable&&) noexcept = default;

Plan StreamTable::Note(ByteRange read, Stall stall, const LinkEstimate& link, const WindowLimit& limit,
                       absl::Duration now) {
  return impl_->Note({read, stall, link, limit.stream, now}, limit.object);
}
void StreamTable::SetBoundaries(std::vector<uint64_t> offsets) { impl_->SetBoundaries(std::move(offsets)); }
std::vector<ByteRange> StreamTable::Abandoned(absl::Duration now) { return impl_->Abandoned(now); }
uint64_t StreamTable::ScheduledAhead() const { return impl_->ScheduledAhead(); }
int StreamTable::active_streams() const { return impl_->active_streams(); }
uint64_t StreamTable::streams_begun() const { return impl_->streams_begun(); }

}  // namespace bucketvol
