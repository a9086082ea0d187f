#include "test/support/erofs_reader.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/status_macros.h"

namespace bucketvol::testing {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr uint64_t kMib = 1 << 20;

absl::Status Wrong(absl::string_view what, uint64_t nid = 0) {
  return absl::DataLossError(absl::StrCat(what, " (inode ", nid, ")"));
}

uint32_t BitwiseCrc32c(absl::string_view data) {
  uint32_t crc = ~0u;
  for (const char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
  }
  return crc;
}

class ImageReader {
 public:
  explicit ImageReader(std::string bytes) : bytes_(std::move(bytes)) {}

  absl::StatusOr<ErofsImage> Read() {
    RETURN_IF_ERROR(ReadSuperblock());
    ErofsImage image;
    ASSIGN_OR_RETURN(image.root, ReadInode(root_nid_));
    RETURN_IF_ERROR(ReadDirectory(image.root, root_nid_));
    RETURN_IF_ERROR(CheckExtents());
    image.inodes = inodes_;
    image.feature_incompat = incompat_;
    image.uuid = bytes_.substr(1024 + 48, 16);
    if (inodes_seen_ != inodes_)
      return Wrong(absl::StrCat("superblock counts ", inodes_, " of ", inodes_seen_));
    return image;
  }

 private:
  struct Device {
    uint64_t blocks, first;
  };
  struct Extent {
    uint64_t begin, end;
  };

  uint64_t Load(uint64_t at, unsigned size) const {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= uint64_t{static_cast<uint8_t>(bytes_.at(at + i))} << 8 * i;
    return value;
  }

  absl::Status ReadSuperblock() {
    if (bytes_.size() < 2 * kBlock || bytes_.size() % kBlock != 0) return Wrong("image size");
    const uint64_t super = 1024;
    if (Load(super, 4) != 0xE0F5E1E2 || Load(super + 12, 1) != 12) return Wrong("magic or block size");
    std::string summed = bytes_.substr(super, kBlock - super);
    summed.replace(4, 4, 4, '\0');
    if ((Load(super + 8, 4) & 1) == 0 || BitwiseCrc32c(summed) != Load(super + 4, 4))
      return Wrong("checksum");
    incompat_ = static_cast<uint32_t>(Load(super + 80, 4));
    root_nid_ = (incompat_ & 0x80) != 0 ? Load(super + 112, 8) : Load(super + 14, 2);
    inodes_ = Load(super + 16, 8);
    if (Load(super + 36, 4) * kBlock != bytes_.size()) return Wrong("block count");
    if (Load(super + 40, 4) != 0) return Wrong("metadata address");
    const uint64_t count = Load(super + 86, 2), table = Load(super + 88, 2) * 128;
    if ((count > 0) != ((incompat_ & 8) != 0)) return Wrong("device table feature");
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t slot = table + 128 * i;
      devices_.push_back({Load(slot + 64, 4) | Load(slot + 72, 4) << 32, Load(slot + 68, 4)});
    }
    extents_.resize(count);
    return absl::OkStatus();
  }

  absl::StatusOr<ErofsNode> ReadInode(uint64_t nid) {
    const uint64_t at = nid * 32;
    if (at + 64 > bytes_.size()) return Wrong("inode outside of the image", nid);
    ++inodes_seen_;
    ErofsNode node;
    node.nid = nid;
    node.mode = static_cast<uint32_t>(Load(at + 4, 2));
    node.size = Load(at + 8, 8);
    node.uid = static_cast<uint32_t>(Load(at + 24, 4));
    node.gid = static_cast<uint32_t>(Load(at + 28, 4));
    node.mtime_seconds = static_cast<int64_t>(Load(at + 32, 8));
    node.mtime_nanoseconds = static_cast<uint32_t>(Load(at + 40, 4));
    node.links = static_cast<uint32_t>(Load(at + 44, 4));
    if ((Load(at, 2) & 1) == 0 || Load(at + 2, 2) != 0) return Wrong("inode form", nid);
    if (!node.directory() && node.size > 0) RETURN_IF_ERROR(FindData(at, node));
    return node;
  }

  absl::Status FindData(uint64_t at, ErofsNode& node) {
    const uint64_t format = Load(at, 2) >> 1;
    if (format == 0) return FindFlat(Load(at + 16, 4) | Load(at + 6, 2) << 32, node);
    if (format != 4) return Wrong("file layout", node.nid);
    const uint64_t chunk_format = Load(at + 16, 2), chunk = uint64_t{1} << (chunk_format & 31);
    if ((incompat_ & 4) == 0) return Wrong("chunk feature", node.nid);
    const uint64_t chunks = (node.size + chunk * kBlock - 1) / (chunk * kBlock);
    for (uint64_t i = 0; i < chunks; ++i) {
      const uint64_t index = at + 64 + 8 * i;
      const uint64_t high = (chunk_format & 0x40) != 0 ? Load(index, 2) << 32 : 0;
      const uint64_t block = high | Load(index + 4, 4);
      if ((block & 0xFFFFFFFF) == 0xFFFFFFFF && high == 0) return Wrong("chunk is a hole", node.nid);
      if (i == 0) node.device = static_cast<int>(Load(index + 2, 2)) - 1, node.device_block = block;
      if (static_cast<int>(Load(index + 2, 2)) - 1 != node.device || block != node.device_block + i * chunk) {
        return Wrong("chunks are not adjacent", node.nid);
      }
    }
    return AddExtent(node);
  }

  absl::Status FindFlat(uint64_t block, ErofsNode& node) {
    if (block >= 0xFFFFFFFF) return Wrong("flat extent begins too far", node.nid);
    for (size_t i = 0; i < devices_.size(); ++i) {
      if (devices_[i].first == 0 || block < devices_[i].first ||
          block >= devices_[i].first + devices_[i].blocks)
        continue;
      node.device = static_cast<int>(i);
      node.device_block = block - devices_[i].first;
      return AddExtent(node);
    }
    return Wrong("no device holds the extent", node.nid);
  }

  absl::Status AddExtent(const ErofsNode& node) {
    if (node.device < 0 || node.device >= static_cast<int>(devices_.size()))
      return Wrong("no such device", node.nid);
    const uint64_t end = node.device_block + (node.size + kBlock - 1) / kBlock;
    if (node.device_block < kMib / kBlock || end + kMib / kBlock > devices_[node.device].blocks) {
      return Wrong("extent reaches the edge of its device", node.nid);
    }
    extents_[node.device].push_back({node.device_block, end});
    return absl::OkStatus();
  }

  absl::Status CheckExtents() {
    for (auto& list : extents_) {
      std::sort(list.begin(), list.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
      for (size_t i = 1; i < list.size(); ++i) {
        if (list[i].begin < list[i - 1].end) return Wrong("extents overlap");
      }
    }
    return absl::OkStatus();
  }

  // The bytes of a directory's block, cut at its size.
  absl::StatusOr<absl::string_view> DirectoryBlock(const ErofsNode& node, uint64_t i) {
    const uint64_t at = node.nid * 32, format = Load(at, 2) >> 1;
    const uint64_t blocks = (node.size + kBlock - 1) / kBlock,
                   length = std::min(kBlock, node.size - i * kBlock);
    uint64_t where = (Load(at + 16, 4) + i) * kBlock;
    if (format == 2 && i + 1 == blocks) {
      where = at + 64;
      if (where % kBlock + length > kBlock) return Wrong("inline data crosses a block", node.nid);
    } else if (format != 0 && format != 2) {
      return Wrong("directory layout", node.nid);
    }
    if (where + length > bytes_.size()) return Wrong("directory block outside of the image", node.nid);
    return absl::string_view(bytes_).substr(where, length);
  }

  absl::Status ReadDirectory(ErofsNode& node, uint64_t parent) {
    std::string last;
    uint64_t dots = 0;
    for (uint64_t i = 0; i * kBlock < node.size; ++i) {
      ASSIGN_OR_RETURN(const absl::string_view block, DirectoryBlock(node, i));
      const uint64_t base = static_cast<uint64_t>(block.data() - bytes_.data());
      const uint64_t names = Load(base + 8, 2), count = names / 12;
      if (names % 12 != 0 || count == 0 || names >= block.size()) return Wrong("first name offset", node.nid);
      for (uint64_t k = 0; k < count; ++k) {
        const uint64_t entry = base + 12 * k, begin = Load(entry + 8, 2);
        const uint64_t end = k + 1 < count ? Load(entry + 12 + 8, 2) : block.size();
        if (begin > end || end > block.size()) return Wrong("name offset", node.nid);
        absl::string_view name = block.substr(begin, end - begin);
        if (k + 1 == count) name = name.substr(0, name.find('\0'));
        if (name.empty() || name.size() > 255 || name.find('\0') != absl::string_view::npos)
          return Wrong("name", node.nid);
        if (!last.empty() && name <= last)
          return Wrong(absl::StrCat("order: ", absl::CHexEscape(name)), node.nid);
        last = std::string(name);
        RETURN_IF_ERROR(ReadEntry(node, parent, entry, last, dots));
      }
    }
    return dots == 2 ? absl::OkStatus() : Wrong("\".\" or \"..\" is missing", node.nid);
  }

  absl::Status ReadEntry(ErofsNode& node, uint64_t parent, uint64_t entry, const std::string& name,
                         uint64_t& dots) {
    const uint64_t nid = Load(entry, 8), type = Load(entry + 10, 1);
    if (name == "." || name == "..") {
      ++dots;
      return nid == (name == "." ? node.nid : parent) && type == 2 ? absl::OkStatus() : Wrong(name, node.nid);
    }
    ASSIGN_OR_RETURN(ErofsNode child, ReadInode(nid));
    if (type != (child.directory() ? 2 : 1)) return Wrong("entry type", nid);
    if (child.directory()) RETURN_IF_ERROR(ReadDirectory(child, node.nid));
    node.children.emplace(name, std::move(child));
    return absl::OkStatus();
  }

  const std::string bytes_;
  uint32_t incompat_ = 0;
  uint64_t root_nid_ = 0;
  uint64_t inodes_ = 0;
  uint64_t inodes_seen_ = 0;
  std::vector<Device> devices_;
  std::vector<std::vector<Extent>> extents_;
};

}  // namespace

absl::StatusOr<ErofsImage> ReadErofsImage(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return ImageReader(std::string(std::istreambuf_iterator<char>(file), {})).Read();
}

}  // namespace bucketvol::testing
