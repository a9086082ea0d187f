// A worker for tests of the guard: speaks its protocol, and serves files of the disk over raw FUSE. The spec
// says how it behaves, in words separated by blanks:
//   meta=PATH data=PATH   the image and its only data file      fail=TEXT  reports a failure
//   empty                 the image has no data file            crash      ends without a word
//   silent                never reports an image                mute       never answers a FUSE request
//   stop-at-read          stops answering at the first read of data beyond the head
//   document=TEXT         what it answers to status requests   no-beat    its heart never beats
//   hang                  does nothing at all                  die        ends when it shall serve
//   slow-drain            does not end when it is told to      newer      says more than this version knows
//   distrustful           ends unless it is told how often a request may be taken over
//   overdue               once it was asked for its status, holds a request that it took an hour ago
//   exit=CODE             ends instead of telling its status   older      knows less than this version
// Words that begin with "next:" are for successors only, with "first:" for the first worker only.

#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "mounter/guard/channel.h"
#include "mounter/guard/monotonic.h"
#include "mounter/session/request_slots.h"

namespace bucketvol {
namespace {

constexpr uint64_t kDataInode = 2;

class FakeWorker {
 public:
  explicit FakeWorker(Channel channel) : channel_(std::move(channel)) {}

  int Run() {
    Message start;
    if (channel_.ReceiveWaiting(start, -1) != Channel::Received::kMessage || start.descriptors.empty())
      return 1;
    const bool first = start.BodyAs<StartBody>().role == WorkerRole::kFirst;
    ParseSpec(start.Strings(1)[0], first ? "first:" : "next:");
    std::string why;
    slots_.emplace(*RequestSlots::Map(std::move(start.descriptors.front()), why));
    if (Has("hang")) pause();
    if (Has("crash")) abort();
    return first ? RunFirst() : RunSuccessor(start);
  }

 private:
  bool Has(const std::string& word) const { return words_.count(word) > 0; }
  void Tell(MessageType type) { (void)channel_.Send(EncodePacket(type, "", "")).ok(); }

  // Files that the first one left must come back as they were.
  int RunSuccessor(Message& start) {
    if (start.descriptors.size() != 3) return 1;  // The slots, the metadata image, the data.
    data_ = std::move(start.descriptors[2]);
    if (Has("newer")) SpeakNewerWords();
    Tell(MessageType::kReady);
    if (!AwaitOrder() || Has("die")) return 1;
    DropOldRequests();
    Tell(MessageType::kServing);
    return Loop();
  }

  int RunFirst() {
    if (!AwaitOrder()) return 1;
    if (words_.count("fail") > 0) return Fail(words_["fail"]);
    ProgressBody progress;
    progress.keys = 42;
    (void)channel_.Send(EncodeMessage(MessageType::kProgress, progress)).ok();
    if (words_.count("silent") == 0) SendImage();
    Tell(MessageType::kServing);
    return Loop();
  }

  void SpeakNewerWords() {
    (void)channel_.Send(EncodePacket(static_cast<MessageType>(9999), "body", "payload")).ok();
  }

  bool AwaitOrder() {
    Message message;
    while (!message.Is(MessageType::kServe)) {
      if (message.Is(MessageType::kWorkerStatus)) TellStatus(message);
      if (channel_.ReceiveWaiting(message, -1) != Channel::Received::kMessage) return false;
    }
    fuse_ = std::move(message.descriptors.front());
    return !Has("distrustful") || message.BodyAs<ServeBody>().most_attempts > 0;
  }

  void HoldAnOldRequest() {
    constexpr int64_t kHourMs = 3'600'000;
    SlotHeader& slot = slots_->slot(0);
    slot.taken_ms = MonotonicMs() - kHourMs;
    slot.state = static_cast<uint32_t>(SlotState::kBusy);
  }
  // Without an answer, unlike real ones.
  void DropOldRequests() {
    for (const uint32_t index : slots_->Taken())
      slots_->slot(index).state = static_cast<uint32_t>(SlotState::kFree);
  }

  int Loop() {
    constexpr int kBeatMs = 100;
    while (!drained_) {
      pollfd ready[] = {{channel_.fd(), POLLIN, 0}, {words_.count("mute") > 0 ? -1 : fuse_.get(), POLLIN, 0}};
      poll(ready, 2, kBeatMs);
      if (!Has("no-beat")) ++slots_->header().beat;
      if (ready[0].revents != 0 && !OnMessage()) return 0;
      if (ready[1].revents != 0 && !OnRequest()) return 0;
    }
    return 0;
  }

  void ParseSpec(const std::string& spec, const std::string& role) {
    std::istringstream in(spec);
    for (std::string word; in >> word;) {
      if (word.compare(0, role.size(), role) == 0) word.erase(0, role.size());
      const size_t equals = word.find('=');
      words_[word.substr(0, equals)] = equals == std::string::npos ? "" : word.substr(equals + 1);
    }
  }

  int Fail(const std::string& text) {
    ResultBody body;
    body.code = ResultCode::kFailed;
    (void)channel_.Send(EncodeMessage(MessageType::kWorkerFailed, body, {text})).ok();
    return 1;
  }

  void SendImage() {
    const UniqueFd meta(open(words_["meta"].c_str(), O_RDONLY | O_CLOEXEC));
    data_ = UniqueFd(open(words_["data"].c_str(), O_RDONLY | O_CLOEXEC));
    struct {
      ImageBody known;
      uint64_t added = 7;
    } image;
    image.known.devices = words_.count("empty") > 0 ? 0 : 1;
    if (Has("newer")) SpeakNewerWords();
    std::string packet = EncodeMessage(MessageType::kImage, image.known, {words_["meta"]});
    if (Has("newer")) packet = EncodeMessage(MessageType::kImage, image, {words_["meta"], "another string"});
    // A body without its last field.
    const std::string_view body(reinterpret_cast<const char*>(&image), offsetof(ImageBody, needs_48bit));
    if (Has("older")) packet = EncodePacket(MessageType::kImage, body, JoinStrings({words_["meta"]}));
    const int lock = meta.get();  // Any descriptor: the guard closes it.
    (void)channel_.Send(packet, {meta.get(), lock, meta.get(), data_.get()}).ok();
  }

  bool OnMessage() {
    Message message;
    switch (channel_.Receive(message)) {
      case Channel::Received::kClosed:
        return false;
      case Channel::Received::kNothing:
        return true;
      case Channel::Received::kMessage:
        break;
    }
    if (message.Is(MessageType::kDrain)) drained_ = !Has("slow-drain");
    if (message.Is(MessageType::kWorkerStatus)) {
      if (Has("overdue")) HoldAnOldRequest();
      if (Has("exit")) _exit(std::stoi(words_["exit"]));
      TellStatus(message);
    }
    return true;
  }

  void TellStatus(const Message& question) {
    const auto body = question.BodyAs<WorkerStatusBody>();
    (void)channel_.Send(EncodeMessage(MessageType::kWorkerStatusReply, body, {words_["document"]})).ok();
  }

  // False: the file system is unmounted.
  bool OnRequest() {
    std::vector<char> buffer(2 << 20);
    const ssize_t got = read(fuse_.get(), buffer.data(), buffer.size());
    if (got < 0) return errno != ENODEV;
    fuse_in_header header;
    std::memcpy(&header, buffer.data(), sizeof header);
    const char* argument = buffer.data() + sizeof header;
    switch (header.opcode) {
      case FUSE_INIT:
        Init(header);
        break;
      case FUSE_LOOKUP:
        Lookup(header, argument);
        break;
      case FUSE_GETATTR:
        Getattr(header);
        break;
      case FUSE_OPEN:
        Open(header);
        break;
      case FUSE_READ:
        Read(header, argument);
        break;
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
        break;
      case FUSE_RELEASE:
      case FUSE_FLUSH:
        ReplyError(header, 0);
        break;
      default:
        ReplyError(header, ENOSYS);
    }
    return true;
  }

  void Reply(const fuse_in_header& request, const void* data, size_t size, int error = 0) {
    fuse_out_header header{};
    header.len = static_cast<uint32_t>(sizeof header + size);
    header.unique = request.unique;
    header.error = -error;
    std::string packet(reinterpret_cast<const char*>(&header), sizeof header);
    packet.append(static_cast<const char*>(data), size);
    if (write(fuse_.get(), packet.data(), packet.size()) < 0) return;
  }
  void ReplyError(const fuse_in_header& request, int error) { Reply(request, "", 0, error); }

  void Init(const fuse_in_header& request) {
    fuse_init_out out{};
    out.major = FUSE_KERNEL_VERSION;
    out.minor = 31;
    out.max_write = 4096;
    Reply(request, &out, sizeof out);
  }

  fuse_attr Attributes(uint64_t inode) const {
    fuse_attr attributes{};
    attributes.ino = inode;
    attributes.mode = inode == kDataInode ? S_IFREG | 0400 : S_IFDIR | 0500;
    attributes.nlink = 1;
    struct stat info;
    if (inode == kDataInode && fstat(data_.get(), &info) == 0)
      attributes.size = static_cast<uint64_t>(info.st_size);
    return attributes;
  }

  void Lookup(const fuse_in_header& request, const char* name) {
    if (std::strcmp(name, "data0") != 0) return ReplyError(request, ENOENT);
    fuse_entry_out out{};
    out.nodeid = kDataInode;
    out.attr = Attributes(kDataInode);
    Reply(request, &out, sizeof out);
  }

  void Getattr(const fuse_in_header& request) {
    fuse_attr_out out{};
    out.attr = Attributes(request.nodeid);
    Reply(request, &out, sizeof out);
  }

  void Open(const fuse_in_header& request) {
    fuse_open_out out{};
    out.open_flags = FOPEN_DIRECT_IO;
    Reply(request, &out, sizeof out);
  }

  void Read(const fuse_in_header& request, const char* argument) {
    fuse_read_in in;
    std::memcpy(&in, argument, sizeof in);
    if (words_.count("stop-at-read") > 0) return;
    std::string bytes(in.size, '\0');
    const ssize_t got = pread(data_.get(), bytes.data(), bytes.size(), static_cast<off_t>(in.offset));
    Reply(request, bytes.data(), got < 0 ? 0 : static_cast<size_t>(got));
  }

  Channel channel_;
  UniqueFd fuse_;
  UniqueFd data_;
  std::optional<RequestSlots> slots_;
  bool drained_ = false;
  std::map<std::string, std::string> words_;
};

}  // namespace
}  // namespace bucketvol

int main() { return bucketvol::FakeWorker(bucketvol::Channel(bucketvol::UniqueFd(3))).Run(); }
