#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"

namespace bucketvol {

/// Learns which addresses of a service do not work at the moment.
///
/// An address is in trouble when it did not take a connection, or hung up before it answered, or was silent
/// for a second while requests waited for it. From then on it is avoided, but for one connection now and then
/// that probes it: after a second, and after twice as long each time, up to a minute. An answer over a
/// connection that was made since ends the trouble.
///
/// Not thread-safe. Times are those of Clock::Elapsed. Addresses are SocketAddress::Key.
class AddressHealth {
 public:
  using Key = uint64_t;

  /// Whether nothing is held against any address.
  bool unclouded() const { return entries_.empty(); }
  bool InTrouble(Key address) const;
  /// Whether it is time for a probe.
  bool ProbeIsDue(Key address, absl::Duration now) const;
  /// A probe goes out. The next is due when this one has had its time.
  void OnProbe(Key address, absl::Duration now);

  /// Bytes came over a connection of this age.
  void OnBytes(Key address, absl::Duration connected);
  /// It did not take a connection, or hung up instead of answering.
  void OnFailure(Key address, absl::Duration now);
  /// A request, or the making of a connection, was given up, after a silence that had begun at `since`.
  /// Silences at the same time count once.
  void OnSilence(Key address, absl::Duration since, absl::Duration now);

 private:
  struct Entry {
    absl::Duration silence;                              // Since the last byte, while somebody waited.
    absl::Duration counted = -absl::InfiniteDuration();  // Until when silence was added up.
    int probes = -1;                                     // Since the trouble began; -1: there is none.
    absl::Duration began;                                // The trouble.
    absl::Duration next_probe;
  };

  absl::flat_hash_map<Key, Entry> entries_;
};

}  // namespace bucketvol
