#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "mounter/index/lister_key_map.h"
#include "mounter/index/run_buffer.h"

namespace bucketvol {

/// A stretch of the key space that is listed from left to right by one request at a time.
struct Interval {
  static constexpr double kNotDue = 1e18;
  enum class State {
    kWaiting,  // For a stream.
    kAsking,   // A request is in flight.
    kReading,  // Its answer is being looked at: the end must not move.
    kResting,  // Until it is tried again after an error.
    kDone,
  };

  uint64_t id = 0;
  State state = State::kWaiting;
  std::string after;               // Exclusive: the last key taken, or the point where the interval begins.
  std::optional<std::string> end;  // Inclusive; nullopt: to the end of the prefix.
  bool begins_at_point = false;    // `after` is a point of ours that no listing has shown.
  std::string token;               // For the page that follows, from the service.
  bool ask_with_token = false;     // The service refused `after`, or has answered it with an empty page.
  int tries = 0;                   // Without progress.
  int empty_pages = 0;             // Got past by their tokens, in a row.

  PageSpan page;                  // The page read last; `keys` is 0 before the first.
  uint64_t keys = 0;              // Taken so far.
  double pages_in_directory = 0;  // Read in the directory that `after` is in.
  double pages_in_landmark = 0;   // Read since a landmark was passed.
  double pages_left = 1;          // A guess.
  double pages_read = 0;
  double due = kNotDue;       // It should have ended when so many had been read;
  Trust trust = Trust::kYes;  // no longer, when it had not.

  uint64_t source = 0;     // The interval that this one was split off; 0: none.
  int probes_out = 0;      // Intervals split off whose first page has not come.
  bool probe_hit = false;  // One of them held keys.
  int missed_splits = 0;   // Splits in a row of which none did.
  absl::Duration split_again = -absl::InfiniteDuration();

  Run run;
};

struct IntervalTableSettings {
  std::string prefix;
  int page_keys = 1000;
  // How many pages may be read ahead of their turn: they must be kept somewhere. While there is more than
  // enough to do, intervals are cut so short that all that are read at once stay within it.
  double read_ahead_pages = 2000;
};

/// The intervals that a key space is cut into, in key order, and the decisions: which to read next, which to
/// split, where.
///
/// Reading is concentrated on the left, so that little has to be kept: streams are given out from left to
/// right, to each interval as many as it has parts of about (pages left ÷ streams) pages. A split makes an
/// interval at once, whose first page is its probe; nothing is lost if it is empty but the request. The
/// number of requests lost so is bounded by a share of those that were useful and by the number of streams.
/// Not thread-safe; does no I/O.
class IntervalTable {
 public:
  explicit IntervalTable(IntervalTableSettings settings);

  /// Tells where there are keys. Points that cannot be used are left out.
  void AddLandmarks(const std::vector<std::string>& points, KeyMap::Landmarks kind);
  /// Tells that all sub-directories of `directory` are among the points added.
  void LearnWhole(absl::string_view directory, size_t sub_directories) {
    map_.LearnWhole(directory, sub_directories);
  }
  /// Tells whether landmarks have been asked for, and will be added.
  void ExpectLandmarks(bool expected) { landmarks_expected_ = expected; }
  /// Tells how many pages there are from one landmark to the next.
  void LearnDistance(double pages) { map_.LearnDistance(pages); }
  const KeyMap& map() const { return map_; }
  bool empty() const { return intervals_.empty(); }
  /// Whether everything has been read.
  bool finished() const;
  /// The leftmost interval: whose keys are next in the output. Pointers to intervals stay valid until they
  /// are done.
  Interval& front() { return intervals_.front(); }
  /// Drops the leftmost interval, which must be done.
  void PopFront();

  /// Chooses intervals to ask for now, at most `idle` of them, splitting where that is worth it; they become
  /// kAsking. `limit` is how many requests may be in flight in all.
  std::vector<Interval*> Plan(int idle, int limit, absl::Duration now);
  /// Takes the leftmost interval only, if it waits.
  Interval* PlanFront();

  /// What a page meant for its interval.
  struct PageNews {
    absl::Span<const ListedObject> kept;  // Up to the end of the interval.
    absl::string_view first;              // The first key received; empty if there is none.
    size_t received = 0;                  // With those behind it.
    bool truncated = false;
  };
  /// Notes a page for an interval in kReading, which becomes kWaiting or kDone.
  void TakePage(Interval& interval, const PageNews& news);
  /// Whether keys have been seen behind the interval.
  bool HasKeysBehind(const Interval& interval) const;
  /// Gives up an interval whose begin the service refuses: its neighbour reads on in its place. It must not
  /// hold keys. No point is proposed from then on. False if there is nothing to fall back to.
  bool Retract(Interval& interval);
  /// Counts a request that brings no keys.
  void CountExtraRequest() { lost_ += 1; }

 private:
  using Iterator = std::list<Interval>::iterator;

  Iterator Find(const Interval& interval);
  KeyStretch StretchOf(const Interval& interval) const;
  void Estimate(Interval& interval);
  double Credit(double share, int streams, double pages) const;
  double PartPages(int limit) const;
  bool Known(const Interval& interval) const;
  bool MaySplit(const Interval& interval, absl::Duration now) const;
  int SplitBudget(int in_flight, int more) const;
  /// Gives streams that would have nothing to do the further half of the longest intervals.
  void Halve(int idle, int limit, std::vector<Interval*>& chosen);
  void Split(Iterator interval, int count, double part, std::vector<Interval*>& chosen);
  void NoteProbe(Interval& interval, bool hit);
  void CountPage(Interval& interval, const PageNews& news);

  const IntervalTableSettings settings_;
  KeyMap map_;
  std::list<Interval> intervals_;
  absl::flat_hash_map<uint64_t, Interval*> by_id_;
  uint64_t next_id_ = 1;
  std::string last_key_;  // The greatest that left at the front.
  bool splitting_allowed_ = true;
  size_t page_capacity_ = 1;  // Most keys seen in a page.
  double useful_ = 0;         // Pages' worth of keys.
  double lost_ = 0;           // Pages' worth of requests that brought none.
  double earned_ = 0;         // What more may be lost, for pages read while most streams had nothing to do.
  bool starving_ = false;
  bool landmarks_expected_ = false;
  int probes_out_ = 0;
  int peak_ = 0;  // Most requests in flight.
  absl::Duration now_;
};

}  // namespace bucketvol
