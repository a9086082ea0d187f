#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "mounter/guard/channel.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {

/// Waits until `condition` holds, looking again and again; false when it still does not after ten seconds.
bool Await(const std::function<bool()>& condition);

/// A guard program with a fake worker (fake_worker.cc has the words of its spec), an image of two files and a
/// mount point. Needs root. The destructor kills what is left and takes the mount down.
class GuardRig {
 public:
  GuardRig();
  ~GuardRig();

  /// Replaces the image by one of an empty directory without a data device.
  void MakeEmptyImage();
  /// Writes over the superblock of the image.
  void DamageImage();
  /// The worker's limit for a request, as the guard is told; 0: the usual one. For guards that start later.
  void SetRequestTimeout(uint32_t ms) { request_timeout_ms_ = ms; }
  /// Gives the guard descriptors of two files for its workers: one of the source and the image.
  void ShareNodeMemory() { node_memory_ = {source_file("large"), dir_ / "meta.erofs"}; }
  /// Starts the guard. `spec`: how the worker behaves, added to where the image is.
  void Start(const std::string& spec = "", Transport transport = Transport::kLoop);
  /// The next message of this type on the control connection; others are skipped. Fails the test when none
  /// comes.
  Message Expect(MessageType type);
  /// The lock file of the source, and one of a mount point.
  std::string source_lock() const { return dir_ / "locks/source"; }
  std::string LockOf(const std::string& mount_point) const;
  /// Makes a directory.
  std::string MakeMountPoint(const std::string& name) const;
  /// Sends kJoin on a connection of its own.
  Channel Join(const std::string& mount_point, const std::string& terms = "terms",
               const std::string& credentials = "credentials");
  /// Starts, awaits the mount and commits it.
  void Mount(const std::string& spec = "", Transport transport = Transport::kLoop);

  /// Sends one message to the guard's socket and awaits the answer.
  Message Ask(MessageType type, const UnmountBody& body = {}, MessageType answer = MessageType::kResult);
  /// The same with strings instead of a body.
  Message AskInWords(MessageType type, const std::vector<std::string_view>& strings);
  /// The spec of Start, whole.
  std::string Spec(const std::string& words) const;
  static std::string WorkerProgram();
  /// Waits until a successor of the worker is ready to take over.
  void AwaitStandby();
  GuardStatusBody Status() {
    return Ask(MessageType::kStatus, {}, MessageType::kStatusReply).BodyAs<GuardStatusBody>();
  }
  ResultBody Unmount(const UnmountBody& body = {}) {
    return Ask(MessageType::kUnmount, body).BodyAs<ResultBody>();
  }
  /// Unmounts one of several.
  Message UnmountAt(const std::string& mount_point, const UnmountBody& body = {}) {
    return Call(EncodeMessage(MessageType::kUnmount, body, {mount_point}), MessageType::kResult);
  }

  /// Waits until the guard has a helper child, which is in a system call that waits for the worker.
  void AwaitHelper() const;
  bool IsMounted() const;
  /// Waits for the guard's end; its exit code, or minus the signal that killed it.
  int AwaitGuard();
  /// What of the mount is still there: mounts, loop devices, processes, files. Empty: nothing.
  std::string Leftovers() const;

  Channel& control() { return control_; }
  pid_t guard() const { return guard_; }
  std::string mount_point() const { return dir_ / "mnt"; }
  std::string run_directory() const { return dir_ / "run/id"; }
  std::string source_file(const std::string& name) const { return dir_ / ("source/" + name); }

 private:
  Message Call(const std::string& packet, MessageType answer);
  void MakeImage(const std::string& options, const std::string& directory);

  TempDir dir_;
  Channel control_;
  pid_t guard_ = 0;
  pid_t worker_ = 0;
  uint32_t request_timeout_ms_ = 0;
  std::vector<std::string> node_memory_;
};

/// The whole content of a file, or "error: …".
std::string ReadFileOrError(const std::string& path);

}  // namespace bucketvol::testing
