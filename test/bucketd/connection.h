#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "test/bucketd/body_framing.h"
#include "test/bucketd/event_loop.h"
#include "test/bucketd/http_message.h"
#include "test/bucketd/http_server.h"
#include "test/bucketd/pacer.h"
#include "test/bucketd/transport.h"

namespace bucketvol::bucketd {

/// One connection: reads a request, has it answered, sends the reply with its delays and damage, and again.
/// Lives on the thread of its loop.
class Connection {
 public:
  enum class Progress { kWaiting, kYielded, kClosed };

  Connection(UniqueFd socket, uint64_t id, EventLoop& loop);
  ~Connection();

  /// The socket became readable or writable; `hung_up`: the peer is gone or will send no more.
  void OnEvents(bool hung_up);
  /// Does what can be done now.
  Progress Pump();

 private:
  enum class State { kHead, kBody, kDelay, kSend, kLinger, kClosed };
  enum class Step { kAgain, kWait, kYield, kClose };

  Step RunState();
  Step ReadHead();
  Step ParseHead(size_t bytes);
  Step ReadBody();
  Step FeedBody(absl::string_view data, size_t& eaten);
  Step FinishRequest();
  Step WaitFirstByte();
  Step SendReply();
  Step SendPiece(uint64_t limit, int64_t now);
  Step PassEvent();
  Step EndReply();
  Step Linger();

  Step Fail(int status);
  void StartReply(Reply reply);
  uint64_t Admit(uint64_t bytes, int64_t now);
  bool Gather(uint64_t bytes, iovec* pieces, int& count);
  Step WaitUntil(int64_t when);
  Transport::Result Receive(char* out, size_t size);

  EventLoop& loop_;
  const uint64_t id_;
  Transport transport_;
  State state_ = State::kHead;
  bool readable_ = true;
  bool hung_up_ = false;
  int64_t wake_at_ = 0;

  std::string input_;    // Received and not yet eaten.
  size_t searched_ = 0;  // The end of the head is not within that many bytes of input_.
  std::string head_;     // Of the current request; request_ points into it.
  HttpRequest request_;
  BodyFraming framing_;
  std::unique_ptr<Exchange> exchange_;

  Reply reply_;
  std::string reply_head_;  // Status line, headers, preamble.
  uint64_t preamble_bytes_ = 0;
  uint64_t sent_ = 0;  // Of reply_head_ and body.
  uint64_t total_ = 0;
  uint64_t admitted_ = 0;  // Bytes that pacing has let through and that are not sent yet.
  int64_t not_before_ = 0;
  uint64_t event_at_ = 0;  // Position in the stream where the delivery's event happens.
  Pacer pacer_;
};

}  // namespace bucketvol::bucketd
