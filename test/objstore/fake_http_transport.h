#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/objstore/http_transport.h"

namespace bucketvol::testing {

/// An answer of a FakeHttpTransport.
struct FakeAnswer {
  int status = 200;
  std::vector<std::string> headers;  // "Name: value"
  std::vector<std::string> body;     // Handed over piece by piece.
  absl::Status end;                  // What the transport says at the end.
};

/// A transport that answers when the test says so, in the test's thread. Not thread-safe.
class FakeHttpTransport final : public HttpTransport {
 public:
  void Send(HttpRequest request, HttpResponseSink* sink) override {
    waiting_.emplace_back(std::move(request), sink);
  }
  void Shutdown() override {
    while (!waiting_.empty())
      Answer({.end = absl::CancelledError("the object store is shutting down")}, Head::kNone);
  }

  size_t waiting() const { return waiting_.size(); }
  /// The oldest request that has no answer.
  const HttpRequest& request() const { return waiting_.front().first; }
  /// "Name" of it, or "".
  std::string Header(const std::string& name) const {
    for (const HttpHeader& header : request().headers) {
      if (header.name == name) return header.value;
    }
    return "";
  }

  enum class Head { kGiven, kNone };
  /// Answers the oldest request.
  void Answer(const FakeAnswer& answer, Head head = Head::kGiven) {
    HttpResponseSink* const sink = waiting_.front().second;
    waiting_.pop_front();
    absl::Status end = answer.end;
    if (head == Head::kGiven) sink->OnSent();
    if (head == Head::kGiven && !(GiveHead(answer, sink) && GiveBody(answer, sink))) {
      end = absl::AbortedError("the rest of the answer was not wanted");
    }
    sink->OnDone(std::move(end));
  }

  /// Has the oldest request fail before it was sent.
  void Fail(absl::Status status) { Answer({.end = std::move(status)}, Head::kNone); }

 private:
  static bool GiveHead(const FakeAnswer& answer, HttpResponseSink* sink) {
    HttpResponseHead head;
    head.TakeLine(absl::StrCat("HTTP/1.1 ", answer.status, " Text\r\n"));
    for (const std::string& line : answer.headers) head.TakeLine(absl::StrCat(line, "\r\n"));
    head.TakeLine("\r\n");
    return sink->OnHead(head);
  }

  static bool GiveBody(const FakeAnswer& answer, HttpResponseSink* sink) {
    for (const std::string& piece : answer.body) {
      if (!sink->OnBody(piece)) return false;
    }
    return true;
  }

  std::deque<std::pair<HttpRequest, HttpResponseSink*>> waiting_;
};

}  // namespace bucketvol::testing
