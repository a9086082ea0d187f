#pragma once

#include <bit>
#include <cstdint>

// The parts of the EROFS on-disk format that the index uses, as in the kernel's fs/erofs/erofs_fs.h (GPL-2.0
// or Apache-2.0 by its own licence line; these definitions are written from the documented layout). Integers
// are little-endian, and the structures are stored as they lie in memory.
namespace bucketvol::erofs {

static_assert(std::endian::native == std::endian::little, "the structures are stored as they lie in memory");

inline constexpr uint32_t kMagic = 0xE0F5E1E2;
inline constexpr unsigned kBlockBits = 12;
inline constexpr uint64_t kBlockBytes = 1 << kBlockBits;
inline constexpr uint64_t kSuperOffset = 1024;
inline constexpr unsigned kNidBits =
    5;  // An inode's number is its offset in 32-byte slots (metadata begins at block 0).
inline constexpr uint64_t kSlotBytes = 1 << kNidBits;
inline constexpr unsigned kMaxName = 255;

inline constexpr uint32_t kCompatChecksum = 0x1;
inline constexpr uint32_t kCompatMtime = 0x2;
inline constexpr uint32_t kIncompatChunkedFile = 0x4;
inline constexpr uint32_t kIncompatDeviceTable = 0x8;
inline constexpr uint32_t kIncompat48Bit = 0x80;

// i_format: bit 0 set = extended inode; bits 1…3 = data layout.
inline constexpr uint16_t kExtended = 1;
inline constexpr uint16_t kFlatPlain = kExtended | 0 << 1;
inline constexpr uint16_t kFlatInline = kExtended | 2 << 1;
inline constexpr uint16_t kChunkBased = kExtended | 4 << 1;

// Chunk format: bits 0…4 = log2 of the chunk's blocks.
inline constexpr unsigned kChunkBlockBits =
    31;  // The largest there is: 8 TiB, so that nearly every file is one chunk.
inline constexpr uint64_t kChunkBlocks = uint64_t{1} << kChunkBlockBits;
inline constexpr uint32_t kChunkIndexes = 0x20;
inline constexpr uint32_t kChunk48Bit = 0x40;

inline constexpr uint8_t kTypeRegular = 1;
inline constexpr uint8_t kTypeDirectory = 2;

// A 32-bit start block of all ones means a hole.
inline constexpr uint64_t kNoBlock32 = 0xFFFFFFFF;

struct __attribute__((packed)) SuperBlock {
  uint32_t magic;
  uint32_t
      checksum;  // CRC-32C without the final inversion, from here to the end of the block, this field zero.
  uint32_t feature_compat;
  uint8_t block_bits;
  uint8_t extension_slots;
  uint16_t root_nid;  // With 48BIT: the high half of `blocks`.
  uint64_t inodes;
  uint64_t build_seconds;
  uint32_t build_nanoseconds;
  uint32_t blocks;
  uint32_t meta_block;
  uint32_t xattr_block;
  uint8_t uuid[16];
  uint8_t volume_name[16];
  uint32_t feature_incompat;
  uint16_t compression;
  uint16_t extra_devices;
  uint16_t device_table_slot;  // In units of DeviceSlot.
  uint8_t directory_block_bits;
  uint8_t xattr_prefix_count;
  uint32_t xattr_prefix_start;
  uint64_t packed_nid;
  uint8_t reserved[8];
  uint64_t root_nid_48bit;
  uint64_t reserved2;
};
static_assert(sizeof(SuperBlock) == 128);

struct __attribute__((packed)) DeviceSlot {
  uint8_t tag[64];
  uint32_t blocks;
  uint32_t first_block;  // Where the device lies in the flat address space; 0: nowhere, only chunks reach it.
  uint32_t blocks_high;  // Kernels before mid-2026 ignore the high halves of a slot.
  uint16_t first_block_high;
  uint8_t reserved[50];
};
static_assert(sizeof(DeviceSlot) == 128);

inline constexpr uint64_t kDeviceTableOffset = kSuperOffset + sizeof(SuperBlock);
/// Device slots that fit behind the superblock in block 0.
inline constexpr unsigned kMaxDevices = (kBlockBytes - kDeviceTableOffset) / sizeof(DeviceSlot);

struct __attribute__((packed)) Inode {
  uint16_t format;
  uint16_t xattr_count;
  uint16_t mode;
  uint16_t start_high;
  uint64_t size;
  uint32_t start;  // First block, or the chunk format.
  uint32_t ino;    // What 32-bit stat() shows.
  uint32_t uid;
  uint32_t gid;
  int64_t mtime_seconds;
  uint32_t mtime_nanoseconds;
  uint32_t links;
  uint8_t reserved[16];
};
static_assert(sizeof(Inode) == 64);

struct __attribute__((packed)) ChunkIndex {
  uint16_t start_high;
  uint16_t device;  // 1 = the first extra device.
  uint32_t start;   // Block within the device.
};
static_assert(sizeof(ChunkIndex) == 8);

struct __attribute__((packed)) Dirent {
  uint64_t nid;
  uint16_t name_offset;
  uint8_t type;
  uint8_t reserved;
};
static_assert(sizeof(Dirent) == 12);

}  // namespace bucketvol::erofs
