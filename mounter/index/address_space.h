#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "mounter/index/index_file.h"

namespace bucketvol {

/// Where an object's bytes lie: a whole number of blocks on one device.
struct Placement {
  uint32_t device = 0;
  uint64_t block = 0;  // Within the device.
};

/// Deals objects out over data devices, in the order in which they come. Nothing is ever moved.
///
/// One block device carries 128 requests at most, so twelve *lanes* are filled side by side, each a device
/// at a time: small objects in turn, large ones where least lies. (With eight, 1,024 readers in random order
/// always find some lane full, where the kernel lets waiting requests be overtaken: one in a hundred took six
/// times the median.) The first objects of a bucket all go to one device: a small bucket needs no more. Two
/// kinds of device:
///  - *flat* devices share the 32-bit block address space behind the metadata: [1 TiB, 16 TiB), 1 TiB each
///    (more for larger objects). Extents must start below 16 TiB; the device that reaches it may run past it.
///  - *far* devices are not in that space. Their files are chunk-based and name the device: up to 16 TiB
///    each, or 4 PiB with 48-bit block numbers.
/// Every device begins and ends with 1 MiB that belongs to no object, for probers (blkid, udev) to read. Not
/// thread-safe.
class AddressSpace {
 public:
  static constexpr uint64_t kEdgeBlocks = 256;
  static constexpr uint64_t kMetaBlocks = uint64_t{1} << 28;  // [0, 1 TiB): the image itself.
  static constexpr uint64_t kMaxObjectBytes = uint64_t{1} << 50;

  explicit AddressSpace(bool allow_48bit) : allow_48bit_(allow_48bit) {}

  /// Finds room for an object. `bytes` > 0. OutOfRange when there is none; the message says what would help.
  absl::StatusOr<Placement> Place(uint64_t bytes);

  /// The devices so far, as long as they are now, edges included.
  std::vector<DataDevice> devices() const;
  /// Where the next object would begin on each device, in blocks.
  const std::vector<uint64_t>& cursors() const { return cursors_; }
  bool is_far(uint32_t device) const { return devices_[device].first_block == 0; }
  /// The first block of a placement in the flat address space. Not for far devices.
  uint64_t FlatBlock(const Placement& at) const { return devices_[at.device].first_block + at.block; }
  bool needs_48bit() const { return needs_48bit_; }

  static uint64_t BlocksOf(uint64_t bytes);

 private:
  static constexpr unsigned kLanes = 12;
  struct Device {
    uint64_t first_block;  // 0: far.
    uint64_t limit;        // Most blocks, edges included.
  };
  struct Lane {
    int device = -1;
    uint64_t blocks = 0;  // Dealt to it so far, on all its devices.
  };

  unsigned PreferredLane(uint64_t blocks) const;
  bool Fits(const Lane& lane, uint64_t blocks) const;
  Lane* RoomiestLane(uint64_t blocks);
  absl::StatusOr<Lane*> LaneFor(uint64_t blocks);
  absl::Status OpenDevice(Lane& lane, uint64_t blocks);
  bool OpenFlat(uint64_t blocks);
  absl::Status CheckFar(uint64_t blocks) const;
  uint64_t FarLimit() const;
  Placement Take(Lane& lane, uint64_t blocks);

  const bool allow_48bit_;
  bool needs_48bit_ = false;
  uint64_t objects_ = 0;
  uint64_t blocks_ = 0;
  uint64_t next_flat_block_ = kMetaBlocks;
  Lane lanes_[kLanes];
  std::vector<Device> devices_;
  std::vector<uint64_t> cursors_;
};

}  // namespace bucketvol
