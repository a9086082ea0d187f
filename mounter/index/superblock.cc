#include "mounter/index/superblock.h"

#include <cstring>

#include "mounter/base/coding.h"
#include "mounter/base/crc.h"
#include "mounter/index/erofs_format.h"

namespace bucketvol {
namespace {

erofs::DeviceSlot MakeSlot(const DataDevice& device) {
  erofs::DeviceSlot slot = {};
  slot.blocks = static_cast<uint32_t>(device.blocks);
  slot.blocks_high = static_cast<uint32_t>(device.blocks >> 32);
  slot.first_block = static_cast<uint32_t>(device.first_block);
  return slot;
}

uint32_t Incompatible(const SuperBlockFacts& facts) {
  uint32_t bits = 0;
  if (!facts.devices.empty()) bits |= erofs::kIncompatDeviceTable;
  if (facts.needs_48bit) bits |= erofs::kIncompat48Bit;
  for (const DataDevice& device : facts.devices) {
    if (device.first_block == 0) bits |= erofs::kIncompatChunkedFile;
  }
  return bits;
}

}  // namespace

std::string MakeFirstBlock(const SuperBlockFacts& facts) {
  const int64_t seconds = absl::ToUnixSeconds(facts.build_time);
  erofs::SuperBlock super = {};
  super.magic = erofs::kMagic;
  super.feature_compat = erofs::kCompatChecksum | erofs::kCompatMtime;
  super.block_bits = erofs::kBlockBits;
  super.root_nid = facts.needs_48bit ? 0 : static_cast<uint16_t>(facts.root_nid);
  super.root_nid_48bit = facts.needs_48bit ? facts.root_nid : 0;
  super.inodes = facts.inodes;
  super.build_seconds = static_cast<uint64_t>(seconds);
  super.build_nanoseconds =
      static_cast<uint32_t>(absl::ToInt64Nanoseconds(facts.build_time - absl::FromUnixSeconds(seconds)));
  super.blocks = static_cast<uint32_t>(facts.image_bytes >> erofs::kBlockBits);
  std::memcpy(super.uuid, facts.uuid.data(), sizeof super.uuid);
  std::memcpy(super.volume_name, "bucketvol", 9);
  super.feature_incompat = Incompatible(facts);
  super.extra_devices = static_cast<uint16_t>(facts.devices.size());
  super.device_table_slot = erofs::kDeviceTableOffset / sizeof(erofs::DeviceSlot);

  std::string block(erofs::kBlockBytes, '\0');
  std::memcpy(&block[erofs::kSuperOffset], &super, sizeof super);
  for (size_t i = 0; i < facts.devices.size(); ++i) {
    const erofs::DeviceSlot slot = MakeSlot(facts.devices[i]);
    std::memcpy(&block[erofs::kDeviceTableOffset + i * sizeof slot], &slot, sizeof slot);
  }
  StoreLittle(&block[erofs::kSuperOffset + offsetof(erofs::SuperBlock, checksum)],
              ~Crc32c(0, absl::string_view(block).substr(erofs::kSuperOffset)));
  return block;
}

}  // namespace bucketvol
