#include "test/bucketd/connection.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "test/bucketd/text.h"

namespace bucketvol::bucketd {
namespace {

constexpr size_t kReadBytes = 16 * 1024;
constexpr size_t kMaxHeadBytes = 64 * 1024;
// Fits the second-level cache together with the kernel's copy of it.
constexpr uint64_t kSendBytes = 128 * 1024;
// A connection gives way to others after that much.
constexpr uint64_t kTurnBytes = 1024 * 1024;
constexpr int64_t kLingerNs = 1'000'000'000;

void Corrupt(char* data, uint64_t position, size_t size) {
  constexpr uint64_t kEvery = 4096;
  for (uint64_t at = (position + kEvery - 1) / kEvery * kEvery; at < position + size; at += kEvery) {
    data[at - position] = static_cast<char>(data[at - position] ^ 0x10);
  }
}

}  // namespace

Connection::Connection(UniqueFd socket, uint64_t id, EventLoop& loop)
    : loop_(loop), id_(id), transport_(std::move(socket), loop.context().tls) {}

Connection::~Connection() {
  if (exchange_ == nullptr) return;
  exchange_->OnSent(
      sent_ > reply_head_.size() - preamble_bytes_ ? sent_ - (reply_head_.size() - preamble_bytes_) : 0);
}

void Connection::OnEvents(bool hung_up) {
  readable_ = true;
  hung_up_ |= hung_up;
}

Connection::Progress Connection::Pump() {
  for (;;) {
    switch (RunState()) {
      case Step::kAgain:
        break;
      case Step::kWait:
        return Progress::kWaiting;
      case Step::kYield:
        return Progress::kYielded;
      case Step::kClose:
        state_ = State::kClosed;
        return Progress::kClosed;
    }
  }
}

Connection::Step Connection::RunState() {
  switch (state_) {
    case State::kHead:
      return ReadHead();
    case State::kBody:
      return ReadBody();
    case State::kDelay:
      return WaitFirstByte();
    case State::kSend:
      return SendReply();
    case State::kLinger:
      return Linger();
    case State::kClosed:
      break;
  }
  return Step::kClose;
}

Transport::Result Connection::Receive(char* out, size_t size) {
  if (!readable_) return {Transport::Outcome::kBlocked, 0};
  const Transport::Result result = transport_.Read(out, size);
  const bool drained = transport_.short_read_means_empty() && result.bytes < size && !hung_up_;
  if (result.outcome == Transport::Outcome::kBlocked || drained) readable_ = false;
  return result;
}

Connection::Step Connection::ReadHead() {
  const size_t from = searched_ > 3 ? searched_ - 3 : 0;
  const size_t end = input_.find("\r\n\r\n", from);
  if (end != std::string::npos) return ParseHead(end + 4);
  searched_ = input_.size();
  if (input_.size() > kMaxHeadBytes) return Fail(431);
  const Transport::Result result = Receive(loop_.scratch().data(), kReadBytes);
  input_.append(loop_.scratch().data(), result.bytes);
  if (result.outcome == Transport::Outcome::kDone) return Step::kAgain;
  return result.outcome == Transport::Outcome::kEnd ? Step::kClose : Step::kWait;
}

Connection::Step Connection::ParseHead(size_t bytes) {
  head_.assign(input_, 0, bytes);
  input_.erase(0, bytes);
  searched_ = 0;
  request_ = HttpRequest();
  if (!ParseHttpRequest(head_, request_)) return Fail(400);
  framing_ = request_.chunked ? BodyFraming::Chunked() : BodyFraming::Sized(request_.content_length);
  exchange_ = loop_.context().application.Begin(request_, loop_.number());
  if (framing_.state() == BodyFraming::State::kDone) return FinishRequest();
  state_ = State::kBody;
  if (!request_.expects_continue) return Step::kAgain;
  if (!exchange_->wants_body()) {
    request_.keep_alive = false;
    return FinishRequest();
  }
  constexpr absl::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  const iovec piece = {const_cast<char*>(kContinue.data()), kContinue.size()};
  return transport_.Write(&piece, 1).outcome == Transport::Outcome::kDone ? Step::kAgain : Step::kClose;
}

Connection::Step Connection::ReadBody() {
  size_t eaten = 0;
  if (!input_.empty()) {
    const Step step = FeedBody(input_, eaten);
    input_.erase(0, eaten);
    return step;
  }
  const absl::Span<char> buffer = loop_.scratch();
  const Transport::Result result = Receive(buffer.data(), buffer.size());
  if (result.outcome == Transport::Outcome::kBlocked) return Step::kWait;
  if (result.outcome == Transport::Outcome::kEnd) return Step::kClose;
  const absl::string_view data(buffer.data(), result.bytes);
  const Step step = FeedBody(data, eaten);
  input_.append(data.data() + eaten, data.size() - eaten);
  return step == Step::kAgain && result.bytes == buffer.size() ? Step::kYield : step;
}

Connection::Step Connection::FeedBody(absl::string_view data, size_t& eaten) {
  eaten = framing_.Consume(data, [this](absl::string_view piece) { exchange_->OnBody(piece); });
  switch (framing_.state()) {
    case BodyFraming::State::kMore:
      return Step::kAgain;
    case BodyFraming::State::kBroken:
      return Fail(400);
    case BodyFraming::State::kDone:
      break;
  }
  return FinishRequest();
}

Connection::Step Connection::FinishRequest() {
  StartReply(exchange_->Finish());
  return Step::kAgain;
}

Connection::Step Connection::Fail(int status) {
  Reply reply;
  reply.status = status;
  reply.close = true;
  StartReply(std::move(reply));
  return Step::kAgain;
}

void Connection::StartReply(Reply reply) {
  reply_ = std::move(reply);
  const bool close = reply_.close || !request_.keep_alive;
  reply_.close = close;
  reply_head_.clear();
  const uint64_t body = reply_.body_size();
  const uint64_t length = reply_.content_length.value_or(body);
  absl::StrAppend(&reply_head_, "HTTP/1.1 ", reply_.status, " ", ReasonPhrase(reply_.status), "\r\n",
                  reply_.headers);
  const bool never_has_length = reply_.status == 204 || reply_.status == 304;
  if (!never_has_length) absl::StrAppend(&reply_head_, "Content-Length: ", length, "\r\n");
  absl::StrAppend(&reply_head_, close ? "Connection: close\r\n\r\n" : "\r\n");
  preamble_bytes_ = reply_.head_only ? 0 : reply_.preamble.size();
  if (!reply_.head_only) reply_head_ += reply_.preamble;
  sent_ = 0;
  total_ = reply_head_.size() + body - preamble_bytes_;
  event_at_ = reply_.delivery.event == Delivery::Event::kNone ? total_ + 1 : total_ - body + body / 2;
  admitted_ = 0;
  not_before_ = loop_.NowNs() + absl::ToInt64Nanoseconds(reply_.delivery.first_byte);
  pacer_.Restart(not_before_);
  state_ = reply_.delivery.first_byte > absl::ZeroDuration() ? State::kDelay : State::kSend;
}

Connection::Step Connection::WaitUntil(int64_t when) {
  if (hung_up_) return Step::kClose;
  if (wake_at_ != when) loop_.WakeAt(wake_at_ = when, id_);
  return Step::kWait;
}

Connection::Step Connection::WaitFirstByte() {
  if (loop_.NowNs() < not_before_) return WaitUntil(not_before_);
  state_ = State::kSend;
  return Step::kAgain;
}

// How many of the next `bytes` may go now; 0: none before not_before_. The connection's own cap lets the head
// go at once and a piece of the body when its last byte would have come through: a small object takes its
// time too.
uint64_t Connection::Admit(uint64_t bytes, int64_t now) {
  const bool head = sent_ < reply_head_.size();
  const uint64_t own = head ? 0 : reply_.delivery.rate;
  if (head && reply_.delivery.rate != 0) bytes = std::min(bytes, reply_head_.size() - sent_);
  const uint64_t total = loop_.context().application.TotalRate();
  if (own == 0 && total == 0) return bytes;
  if (admitted_ == 0) {
    admitted_ = bytes;
    if (own != 0) admitted_ = std::min(admitted_, Pacer::SliceBytes(own));
    if (total != 0) admitted_ = std::min(admitted_, Pacer::SliceBytes(total));
    not_before_ = now;
    if (own != 0) not_before_ = std::max(not_before_, pacer_.Reserve(admitted_, own, now).end);
    if (total != 0)
      not_before_ = std::max(not_before_, loop_.context().total_pacer.Reserve(admitted_, total, now).begin);
  }
  return now < not_before_ ? 0 : std::min(bytes, admitted_);
}

Connection::Step Connection::SendReply() {
  const int64_t now = loop_.NowNs();
  uint64_t turn = 0;
  while (sent_ < total_) {
    if (sent_ >= event_at_) return PassEvent();
    const uint64_t before = sent_;
    const Step step = SendPiece(std::min(total_, event_at_), now);
    if (step != Step::kAgain) return step;
    turn += sent_ - before;
    if (turn >= kTurnBytes) return Step::kYield;
  }
  return sent_ >= event_at_ ? PassEvent() : EndReply();
}

Connection::Step Connection::SendPiece(uint64_t limit, int64_t now) {
  const uint64_t bytes = Admit(std::min(limit - sent_, kSendBytes), now);
  if (bytes == 0) return WaitUntil(not_before_);
  iovec pieces[2];
  int count = 0;
  if (!Gather(bytes, pieces, count)) return Step::kClose;
  const Transport::Result result = transport_.Write(pieces, count);
  if (result.outcome == Transport::Outcome::kEnd) return Step::kClose;
  sent_ += result.bytes;
  admitted_ -= std::min<uint64_t>(admitted_, result.bytes);
  return result.outcome == Transport::Outcome::kDone ? Step::kAgain : Step::kWait;
}

// Points at the next `bytes` of the stream, made in the loop's scratch space where they exist nowhere.
bool Connection::Gather(uint64_t bytes, iovec* pieces, int& count) {
  if (sent_ < reply_head_.size()) {
    const uint64_t part = std::min(bytes, reply_head_.size() - sent_);
    pieces[count++] = {reply_head_.data() + sent_, part};
    bytes -= part;
  }
  if (bytes == 0) return true;
  const uint64_t offset = std::max<uint64_t>(sent_, reply_head_.size()) - reply_head_.size();
  char* data = reply_.body.data() + offset;
  if (reply_.source != nullptr) {
    data = loop_.scratch().data();
    if (!reply_.source->Read(reply_.source_offset + offset, data, bytes)) return false;
  }
  if (reply_.delivery.corrupt) {
    if (reply_.source == nullptr) data = static_cast<char*>(std::memcpy(loop_.scratch().data(), data, bytes));
    Corrupt(data, offset, bytes);
  }
  pieces[count++] = {data, bytes};
  return true;
}

Connection::Step Connection::PassEvent() {
  event_at_ = total_ + 1;
  switch (reply_.delivery.event) {
    case Delivery::Event::kReset:
      transport_.ResetOnClose();
      return Step::kClose;
    case Delivery::Event::kClose:
      return Step::kClose;
    case Delivery::Event::kStall:
      not_before_ = loop_.NowNs() + absl::ToInt64Nanoseconds(reply_.delivery.stall);
      state_ = State::kDelay;
      return Step::kAgain;
    case Delivery::Event::kNone:
      break;
  }
  return Step::kAgain;
}

Connection::Step Connection::EndReply() {
  if (exchange_ != nullptr) {
    exchange_->OnSent(total_ - (reply_head_.size() - preamble_bytes_));
    exchange_ = nullptr;
  }
  reply_.source = nullptr;
  if (!reply_.close) {
    state_ = State::kHead;
    return Step::kAgain;
  }
  transport_.ShutDown();
  not_before_ = loop_.NowNs() + kLingerNs;
  state_ = State::kLinger;
  return Step::kAgain;
}

// Closing with unread bytes would reset the connection and could take the reply with it: read them first, for
// a while.
Connection::Step Connection::Linger() {
  if (loop_.NowNs() >= not_before_) return Step::kClose;
  const absl::Span<char> buffer = loop_.scratch();
  const Transport::Result result = Receive(buffer.data(), buffer.size());
  if (result.outcome == Transport::Outcome::kEnd) return Step::kClose;
  return result.outcome == Transport::Outcome::kDone ? Step::kYield : WaitUntil(not_before_);
}

}  // namespace bucketvol::bucketd
