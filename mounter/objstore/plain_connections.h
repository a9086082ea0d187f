#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "mounter/base/unique_fd.h"
#include "mounter/objstore/address_book.h"
#include "mounter/objstore/http_answer_reader.h"
#include "mounter/objstore/http_transport.h"
#include "mounter/objstore/poller.h"

namespace bucketvol {

/// A connection without TLS or proxy, over which HTTP/1.1 is spoken: one request at a time. Not thread-safe.
class PlainConnection {
 public:
  /// Takes a connected, non-blocking socket to `authority` ("host:port"), made at `made`.
  PlainConnection(UniqueFd fd, std::string authority, absl::Duration made)
      : fd_(std::move(fd)),
        authority_(std::move(authority)),
        peer_(SocketAddress::OfPeer(fd_.get())),
        made_(made) {}

  struct Outcome {
    enum Kind { kGoesOn, kWhole, kUnwanted, kNotHttp, kCutOff, kBroken } kind = kGoesOn;
    int os_error = 0;  // Of kBroken; 0: the other side closed the connection.
  };
  /// Sends the request. The answer goes to `sink`, but for OnDone.
  Outcome Send(const HttpRequest& request, absl::string_view user_agent, HttpResponseSink* sink);
  /// Goes on once the socket is writable.
  Outcome Write();
  /// Reads what is there, through `buffer`.
  Outcome Read(absl::Span<char> buffer);

  int fd() const { return fd_.get(); }
  const std::string& authority() const { return authority_; }
  const SocketAddress& peer() const { return peer_; }
  absl::Duration made() const { return made_; }
  /// Whether the socket must be watched for room, too.
  bool wants_room() const { return sent_ < text_.size(); }
  /// Whether anything has come of the answer to the latest request.
  bool answered() const { return reader_.begun(); }
  /// Whether it can carry another request now that the answer is whole.
  bool reusable() const { return reader_.reusable() && !wants_room(); }

  // Of whoever owns the connection.
  void* user = nullptr;      // Null: idle.
  bool used_before = false;  // The server may have given it up without our having heard of it yet.
  absl::Duration idle_since;

 private:
  UniqueFd fd_;
  const std::string authority_;
  const SocketAddress peer_;
  const absl::Duration made_;
  std::string text_;  // The request.
  size_t sent_ = 0;
  HttpAnswerReader reader_;
};

/// What the outcome of a request to `url` means for its sink; not for kGoesOn.
absl::Status StatusOf(const PlainConnection::Outcome& outcome, absl::string_view url);

/// The plain connections of one event loop: in use, or kept for the next request to the same place.
/// Not thread-safe.
class PlainConnections {
 public:
  /// `poller` outlives it. Keeps at most `most` connections.
  PlainConnections(Poller& poller, size_t most) : poller_(poller), most_(most) {}
  ~PlainConnections();

  /// Takes over a socket that has just been connected, in use from now on. It lives until it is closed.
  PlainConnection& Add(UniqueFd fd, std::string authority, absl::Duration now);
  using Fits = absl::FunctionRef<bool(const PlainConnection&)>;
  /// The idle connection to `authority` that was used last, of those that fit, or null.
  PlainConnection* TakeIdle(absl::string_view authority, absl::Duration now, Fits fits);
  /// The connection with this descriptor, or null.
  PlainConnection* Find(int fd) const;
  /// Reports it when it is readable, and when it has room if it needs that.
  void Watch(const PlainConnection& connection);
  /// Its request is over, and it waits for another. An idle connection that becomes readable is to be closed.
  void Keep(PlainConnection& connection, absl::Duration now);
  void Close(PlainConnection& connection);
  /// What to read through. One for all: it stays in the processor's cache.
  absl::Span<char> buffer() { return {buffer_.get(), kBufferBytes}; }

 private:
  // Each read tells the sender that there is room again: large ones spare both sides work.
  static constexpr size_t kBufferBytes = 1024 * 1024;

  Poller& poller_;
  const size_t most_;
  const std::unique_ptr<char[]> buffer_ = std::make_unique<char[]>(kBufferBytes);
  size_t count_ = 0;
  std::vector<std::unique_ptr<PlainConnection>> by_fd_;
  absl::flat_hash_map<std::string, std::vector<PlainConnection*>> idle_;  // The latest last.
};

}  // namespace bucketvol
