#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "mounter/reader/reader.h"
#include "test/support/fake_listing.h"

namespace bucketvol::testing {

inline std::string Joined(const ReadData& data) {
  std::string all;
  for (const Slice& slice : data.slices) all.append(slice.bytes.data(), slice.bytes.size());
  return all;
}

/// The bytes that FakeContent has there.
inline std::string ContentOf(const ObjectId& object, ByteRange range) {
  std::string bytes(range.size(), '\0');
  FakeContent(object.key, range.begin, absl::MakeSpan(bytes));
  return bytes;
}

/// One read of a test and what came of it. For tests whose callbacks run in the test's thread.
class ReadOutcome {
 public:
  ReadOutcome(Reader& reader, const ObjectId& object, ByteRange range, ReadContext context = {})
      : state_(std::make_shared<std::optional<absl::StatusOr<ReadData>>>()) {
    reader.Read(object, range, context, [state = state_](absl::StatusOr<ReadData> result) {
      EXPECT_FALSE(state->has_value()) << "answered twice";
      state->emplace(std::move(result));
    });
  }

  bool done() const { return state_->has_value(); }
  absl::Status status() const {
    return done() ? (*state_)->status() : absl::UnknownError("not answered yet");
  }
  const ReadData& data() const { return ***state_; }
  /// The bytes, or what went wrong.
  std::string text() const { return status().ok() ? Joined(data()) : status().ToString(); }
  /// Gives the lent bytes back.
  void Forget() { *state_ = absl::StatusOr<ReadData>(absl::UnknownError("given back")); }

 private:
  std::shared_ptr<std::optional<absl::StatusOr<ReadData>>> state_;
};

}  // namespace bucketvol::testing
