#include "test/bucketd/body_framing.h"

#include <algorithm>
#include <charconv>

namespace bucketvol::bucketd {

BodyFraming BodyFraming::Sized(uint64_t bytes) {
  BodyFraming framing;
  framing.left_ = bytes;
  framing.state_ = bytes == 0 ? State::kDone : State::kMore;
  return framing;
}

BodyFraming BodyFraming::Chunked() {
  BodyFraming framing;
  framing.chunked_ = true;
  framing.part_ = Part::kSize;
  framing.state_ = State::kMore;
  return framing;
}

size_t BodyFraming::Consume(absl::string_view input, absl::FunctionRef<void(absl::string_view)> sink) {
  size_t eaten = 0;
  while (state_ == State::kMore && eaten < input.size()) {
    const absl::string_view rest = input.substr(eaten);
    if (part_ != Part::kData) {
      eaten += ConsumeLine(rest);
      continue;
    }
    const absl::string_view data = rest.substr(0, std::min<uint64_t>(left_, rest.size()));
    sink(data);
    eaten += data.size();
    left_ -= data.size();
    if (left_ > 0) continue;
    part_ = Part::kDataEnd;
    if (!chunked_) state_ = State::kDone;
  }
  return eaten;
}

size_t BodyFraming::ConsumeLine(absl::string_view input) {
  const size_t newline = input.find('\n');
  const absl::string_view piece = input.substr(0, newline);
  const size_t room = std::min(piece.size(), sizeof(line_) - line_size_);
  std::copy_n(piece.data(), room, line_ + line_size_);
  line_size_ += room;
  if (newline == absl::string_view::npos) return input.size();
  OnLine();
  line_size_ = 0;
  return newline + 1;
}

void BodyFraming::OnLine() {
  const bool empty = line_size_ == 0 || (line_size_ == 1 && line_[0] == '\r');
  if (part_ == Part::kSize) return OnSizeLine();
  if (part_ == Part::kDataEnd) {
    part_ = Part::kSize;
    if (!empty) state_ = State::kBroken;
  } else if (empty) {
    state_ = State::kDone;
  }
}

void BodyFraming::OnSizeLine() {
  const auto [end, error] = std::from_chars(line_, line_ + line_size_, left_, 16);
  const bool ends_well = end == line_ + line_size_ || *end == '\r' || *end == ';' || *end == ' ';
  if (error != std::errc() || !ends_well) {
    state_ = State::kBroken;
    return;
  }
  part_ = left_ == 0 ? Part::kTrailer : Part::kData;
}

}  // namespace bucketvol::bucketd
