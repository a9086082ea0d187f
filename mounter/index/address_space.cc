#include "mounter/index/address_space.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/erofs_format.h"

namespace bucketvol {
namespace {

using erofs::kBlockBits;
using erofs::kNoBlock32;

constexpr uint64_t kFlatDeviceBlocks = uint64_t{1} << 28;  // 1 TiB
constexpr uint64_t kFlatEndBlock = uint64_t{1} << 32;      // 16 TiB: extents start below.
constexpr uint64_t kMostBlocks32 = kNoBlock32;             // A slot's block count has 32 bits.
constexpr uint64_t kMostBlocks48 = uint64_t{1} << 40;      // 4 PiB; twelve such lanes outlast every bucket.
constexpr uint64_t kSmallBlocks =
    1024;  // 4 MiB: up to here a request count, beyond it bytes, are what loads a device.
// A bucket below both has one device only.
constexpr uint64_t kOneLaneObjects = 1024;
constexpr uint64_t kOneLaneBlocks = uint64_t{1} << 24;  // 64 GiB

std::string Tebibytes(uint64_t blocks) { return absl::StrCat(blocks >> (40 - kBlockBits), " TiB"); }

}  // namespace

uint64_t AddressSpace::BlocksOf(uint64_t bytes) {
  return (bytes >> kBlockBits) + ((bytes & (erofs::kBlockBytes - 1)) != 0);
}

absl::StatusOr<Placement> AddressSpace::Place(uint64_t bytes) {
  if (bytes > kMaxObjectBytes) {
    return absl::OutOfRangeError(absl::StrCat("object is larger than 1 PiB: ", bytes, " bytes"));
  }
  const uint64_t blocks = BlocksOf(bytes);
  ASSIGN_OR_RETURN(Lane * lane, LaneFor(blocks));
  return Take(*lane, blocks);
}

absl::StatusOr<AddressSpace::Lane*> AddressSpace::LaneFor(uint64_t blocks) {
  Lane* lane = &lanes_[PreferredLane(blocks)];
  if (Fits(*lane, blocks)) return lane;
  Lane* other = RoomiestLane(blocks);
  if (other != nullptr && blocks > kSmallBlocks && lane->device >= 0) return other;
  absl::Status opened = OpenDevice(*lane, blocks);
  if (opened.ok()) return lane;
  if (other != nullptr) return other;
  return opened;
}

unsigned AddressSpace::PreferredLane(uint64_t blocks) const {
  if (objects_ < kOneLaneObjects && blocks_ < kOneLaneBlocks) return 0;
  if (blocks <= kSmallBlocks) return objects_ % kLanes;
  const Lane* least = std::min_element(std::begin(lanes_), std::end(lanes_),
                                       [](const Lane& a, const Lane& b) { return a.blocks < b.blocks; });
  return static_cast<unsigned>(least - lanes_);
}

bool AddressSpace::Fits(const Lane& lane, uint64_t blocks) const {
  if (lane.device < 0) return false;
  const Device& device = devices_[lane.device];
  const uint64_t cursor = cursors_[lane.device];
  if (cursor + blocks + kEdgeBlocks > device.limit) return false;
  return device.first_block == 0 || device.first_block + cursor < kNoBlock32;
}

AddressSpace::Lane* AddressSpace::RoomiestLane(uint64_t blocks) {
  Lane* best = nullptr;
  uint64_t best_room = 0;
  for (Lane& lane : lanes_) {
    if (!Fits(lane, blocks)) continue;
    const uint64_t room = devices_[lane.device].limit - cursors_[lane.device];
    if (room > best_room) best = &lane, best_room = room;
  }
  return best;
}

absl::Status AddressSpace::OpenDevice(Lane& lane, uint64_t blocks) {
  if (!OpenFlat(blocks)) {
    RETURN_IF_ERROR(CheckFar(blocks));
    devices_.push_back({0, FarLimit()});
  }
  cursors_.push_back(kEdgeBlocks);
  lane.device = static_cast<int>(devices_.size()) - 1;
  return absl::OkStatus();
}

// Gives a device the next range of the flat space. An object over 512 GiB gets a range for two of its kind,
// so that a bucket of large objects does not lose half of each range.
bool AddressSpace::OpenFlat(uint64_t blocks) {
  if (next_flat_block_ + kEdgeBlocks >= kNoBlock32 || blocks + 2 * kEdgeBlocks > kMostBlocks32) return false;
  const uint64_t range = std::max(kFlatDeviceBlocks, 2 * (blocks + kEdgeBlocks));
  const bool last = next_flat_block_ + range >= kFlatEndBlock;
  devices_.push_back({next_flat_block_, last ? kMostBlocks32 : range});
  next_flat_block_ = last ? kFlatEndBlock : next_flat_block_ + range;
  return true;
}

uint64_t AddressSpace::FarLimit() const { return allow_48bit_ ? kMostBlocks48 : kMostBlocks32; }

absl::Status AddressSpace::CheckFar(uint64_t blocks) const {
  if (blocks + 2 * kEdgeBlocks > FarLimit()) {
    return absl::OutOfRangeError(
        absl::StrCat("an object of ", Tebibytes(blocks),
                     " needs the 48-bit EROFS layout, which Linux 6.15 and later can mount"));
  }
  if (devices_.size() < erofs::kMaxDevices) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "the objects need more address space than an image has: ", Tebibytes(blocks_), " in ", objects_,
      " objects fitted; mount a smaller path",
      allow_48bit_ ? "" : ", or use Linux 6.15 or later, which can mount the 48-bit EROFS layout"));
}

Placement AddressSpace::Take(Lane& lane, uint64_t blocks) {
  const auto device = static_cast<uint32_t>(lane.device);
  const Placement at = {device, cursors_[device]};
  cursors_[device] += blocks;
  lane.blocks += blocks;
  blocks_ += blocks;
  ++objects_;
  if (is_far(device) && at.block + blocks > kMostBlocks32) needs_48bit_ = true;
  return at;
}

std::vector<DataDevice> AddressSpace::devices() const {
  std::vector<DataDevice> result;
  for (size_t i = 0; i < devices_.size(); ++i) {
    result.push_back({devices_[i].first_block, cursors_[i] + kEdgeBlocks});
  }
  return result;
}

}  // namespace bucketvol
