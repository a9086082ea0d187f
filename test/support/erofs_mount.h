#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "mounter/base/unique_fd.h"
#include "mounter/index/index_file.h"

namespace bucketvol::testing {

/// Why this process cannot mount images (not root, no EROFS); empty when it can.
std::string WhyNoMounting();

/// A loop device over a file, detached with its last user. Read-only.
class LoopDevice {
 public:
  static absl::StatusOr<LoopDevice> Attach(const UniqueFd& file);
  const std::string& path() const { return path_; }

 private:
  LoopDevice(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

/// A mounted index: the image and its data devices on loop devices, the data in sparse memory files that read
/// as zeros until the test writes to them. The destructor unmounts and detaches.
class MountedImage {
 public:
  /// `mountpoint`: an empty directory.
  static absl::StatusOr<std::unique_ptr<MountedImage>> Mount(const std::string& index_directory,
                                                             const IndexManifest& manifest,
                                                             const std::string& mountpoint);
  ~MountedImage();

  /// Sets bytes of a data device. Before the first read of the file that lies there.
  absl::Status WriteData(uint32_t device, uint64_t offset, absl::string_view bytes);

 private:
  MountedImage() = default;
  std::vector<UniqueFd> data_;
  std::vector<LoopDevice> loops_;
  std::string mountpoint_;  // Empty while not mounted.
};

/// What fsck.erofs says about the image of an index: empty when it is clean.
std::string FsckErofs(const std::string& index_directory, const IndexManifest& manifest);

}  // namespace bucketvol::testing
