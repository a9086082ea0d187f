#include "test/guard/guard_rig.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "gtest/gtest.h"
#include "mounter/guard/mount_table.h"
#include "mounter/guard/run_directory.h"
#include "mounter/guard/small_file.h"

namespace bucketvol::testing {
namespace {

std::string Program(const char* name) {
  const char* bin = getenv("BUCKETVOL_BIN");
  return std::string(bin == nullptr ? "build/bin" : bin) + "/" + name;
}

bool Runs(pid_t pid) {
  const std::string stat = ReadSmallFile("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat.size() > name_end + 2 && stat[name_end + 2] != 'Z';
}

std::string LoopsOver(const std::string& directory) {
  std::string found;
  DIR* devices = opendir("/sys/block");
  while (const dirent* entry = readdir(devices)) {
    const std::string file = ReadSmallFile(std::string("/sys/block/") + entry->d_name + "/loop/backing_file");
    if (file.find(directory) != std::string::npos) found += std::string(entry->d_name) + " ";
  }
  closedir(devices);
  return found;
}

}  // namespace

bool Await(const std::function<bool()>& condition) {
  for (int i = 0; i < 2'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

GuardRig::GuardRig() {
  std::filesystem::create_directories(dir_ / "source");
  std::filesystem::create_directories(dir_ / "mnt");
  std::ofstream(dir_ / "source/small") << "hello\n";
  std::ofstream large(dir_ / "source/large");
  for (int i = 0; i < 500'000; ++i) large << i << '\n';
  large.close();
  MakeImage("--chunksize=4096 --blobdev=" + (dir_ / "data0"), dir_ / "source");
}

void GuardRig::MakeImage(const std::string& options, const std::string& directory) {
  const std::string command =
      "mkfs.erofs --quiet " + options + " " + (dir_ / "meta.erofs") + " " + directory + " >/dev/null";
  if (system(command.c_str()) != 0) ADD_FAILURE() << "mkfs.erofs failed";
}

void GuardRig::MakeEmptyImage() {
  std::filesystem::create_directories(dir_ / "nothing");
  MakeImage("", dir_ / "nothing");
}

void GuardRig::DamageImage() {
  std::fstream image(dir_ / "meta.erofs", std::ios::in | std::ios::out);
  image.seekp(1024);
  image << "not a superblock";
}

GuardRig::~GuardRig() {
  control_.Close();
  if (guard_ > 0) {
    kill(guard_, SIGKILL);
    waitpid(guard_, nullptr, 0);
  }
  umount2(mount_point().c_str(), MNT_DETACH);
}

void GuardRig::Start(const std::string& spec, Transport transport) {
  auto ends = Channel::MakePair();
  ASSERT_TRUE(ends.ok());
  guard_ = fork();
  if (guard_ == 0) {
    dup2(ends.value().second.fd(), 3);
    execl(Program("bucketvol-guard").c_str(), "bucketvol-guard", mount_point().c_str(),
          run_directory().c_str(), nullptr);
    _exit(127);
  }
  control_ = std::move(ends.value().first);
  MountBody body;
  body.transport = transport;
  body.request_timeout_ms = request_timeout_ms_;
  std::vector<UniqueFd> files;
  std::vector<int> descriptors;
  for (const std::string& path : node_memory_) {
    files.emplace_back(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    descriptors.push_back(files.back().get());
  }
  const std::string packet = EncodeMessage(MessageType::kMount, body,
                                           {mount_point(), WorkerProgram(), Spec(spec), "",
                                            LockOf(mount_point()), source_lock(), "terms", "credentials"});
  ASSERT_TRUE(control_.Send(packet, descriptors).ok());
}

std::string GuardRig::Spec(const std::string& words) const {
  return "meta=" + (dir_ / "meta.erofs") + " data=" + (dir_ / "data0") + " " + words + " secret";
}

std::string GuardRig::LockOf(const std::string& mount_point) const {
  return dir_ / ("locks/at-" + mount_point.substr(mount_point.rfind('/') + 1));
}

std::string GuardRig::MakeMountPoint(const std::string& name) const {
  std::filesystem::create_directories(dir_ / name);
  return dir_ / name;
}

Channel GuardRig::Join(const std::string& mount_point, const std::string& terms,
                       const std::string& credentials) {
  auto channel = Channel::Connect(RunDirectory::SocketIn(run_directory()));
  if (!channel.ok()) {
    ADD_FAILURE() << channel.failure().text;
    return Channel();
  }
  const std::string lock = LockOf(mount_point);
  EXPECT_TRUE(channel.value()
                  .Send(EncodePacket(MessageType::kJoin, "",
                                     JoinStrings({mount_point, lock, terms, credentials, "of a newer one"})))
                  .ok());
  return std::move(channel.value());
}

std::string GuardRig::WorkerProgram() { return Program("../test/fake_worker"); }

Message GuardRig::Expect(MessageType type) {
  Message message;
  do {
    if (control_.ReceiveWaiting(message, 20'000) != Channel::Received::kMessage) {
      ADD_FAILURE() << "no message of type " << static_cast<int>(type);
      return {};
    }
  } while (!message.Is(type));
  return message;
}

void GuardRig::Mount(const std::string& spec, Transport transport) {
  Start(spec, transport);
  const Message result = Expect(MessageType::kResult);
  ASSERT_EQ(result.BodyAs<ResultBody>().code, ResultCode::kOk) << result.Strings(1)[0];
  ASSERT_TRUE(control_.Send(EncodePacket(MessageType::kCommit, "", "")).ok());
  control_.Close();
  worker_ = Status().worker_pid;
}

Message GuardRig::Ask(MessageType type, const UnmountBody& body, MessageType answer) {
  return Call(EncodeMessage(type, body), answer);
}

Message GuardRig::AskInWords(MessageType type, const std::vector<std::string_view>& strings) {
  return Call(EncodePacket(type, "", JoinStrings(strings)), MessageType::kResult);
}

Message GuardRig::Call(const std::string& packet, MessageType answer) {
  Message message;
  auto channel = Channel::Connect(RunDirectory::SocketIn(run_directory()));
  if (!channel.ok()) {
    ADD_FAILURE() << channel.failure().text;
    return message;
  }
  EXPECT_TRUE(channel.value().Send(packet).ok());
  if (channel.value().ReceiveWaiting(message, 20'000) != Channel::Received::kMessage || !message.Is(answer)) {
    ADD_FAILURE() << "no answer of type " << static_cast<int>(answer);
  }
  return message;
}

void GuardRig::AwaitStandby() {
  EXPECT_TRUE(Await([&] { return Status().standby_ready != 0; }));
}

void GuardRig::AwaitHelper() const {
  const std::string guard = std::to_string(guard_);
  const auto has_helper = [&] {
    std::istringstream children(ReadSmallFile("/proc/" + guard + "/task/" + guard + "/children"));
    for (std::string pid; children >> pid;) {
      if (ReadSmallFile("/proc/" + pid + "/comm") == "bucketvol-help\n") return true;
    }
    return false;
  };
  EXPECT_TRUE(Await(has_helper));
}

bool GuardRig::IsMounted() const { return TopMountAt(ReadMountTable(), mount_point()).has_value(); }

int GuardRig::AwaitGuard() {
  int status = 0;
  if (!Await([&] { return waitpid(guard_, &status, WNOHANG) == guard_; })) return -1000;
  guard_ = 0;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

std::string GuardRig::Leftovers() const {
  std::string found;
  // The kernel frees the devices of a dying process a moment after it is gone.
  if (!Await([&] { return LoopsOver(dir_.path()).empty(); }))
    found += "loop devices " + LoopsOver(dir_.path());
  if (worker_ > 0 && !Await([&] { return !Runs(worker_); })) found += "worker ";
  if (IsMounted()) found += "mount ";
  if (access(run_directory().c_str(), F_OK) == 0) found += "run directory ";
  return found;
}

std::string ReadFileOrError(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return std::string("error: open: ") + strerror(errno);
  std::string content;
  char buffer[64 * 1024];
  ssize_t got;
  while ((got = read(fd.get(), buffer, sizeof buffer)) > 0) content.append(buffer, static_cast<size_t>(got));
  return got < 0 ? std::string("error: read: ") + strerror(errno) : content;
}

}  // namespace bucketvol::testing
