#include "mounter/objstore/http_answer_reader.h"

#include <algorithm>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace bucketvol {
namespace {

// Heads of storage services have about 1 KB; no sender gets more memory than this.
constexpr size_t kMostHeadBytes = 256 * 1024;
constexpr size_t kMostChunkDigits = 15;

absl::string_view WithoutLineEnd(absl::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

bool HasElement(absl::string_view list, absl::string_view element) {
  for (const absl::string_view each : absl::StrSplit(list, ',')) {
    if (absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(each), element)) return true;
  }
  return false;
}

}  // namespace

void HttpAnswerReader::Begin(HttpMethod method, HttpResponseSink* sink) {
  method_ = method;
  sink_ = sink;
  head_.Clear();
  half_line_.clear();
  part_ = Part::kHead;
  head_bytes_ = 0;
  begun_ = http_ = reusable_ = false;
}

HttpAnswerReader::State HttpAnswerReader::Take(absl::Span<const char> bytes) {
  absl::string_view data(bytes.data(), bytes.size());
  begun_ = begun_ || !data.empty();
  State state = State::kGoesOn;
  while (state == State::kGoesOn && !data.empty()) {
    const bool body = part_ == Part::kLength || part_ == Part::kChunk || part_ == Part::kUntilEnd;
    absl::string_view line;
    if (body) {
      state = TakeBody(data);
    } else if (TakeLine(data, line)) {
      state = TakeLineOfPart(line);
      half_line_.clear();
    } else if (half_line_.size() > kMostHeadBytes) {
      state = State::kNotHttp;
    }
  }
  if (!data.empty()) reusable_ = false;
  return state;
}

HttpAnswerReader::State HttpAnswerReader::TakeEnd() {
  reusable_ = false;
  return part_ == Part::kUntilEnd ? Whole() : State::kCutOff;
}

// Moves a line, without its end, out of `data`; false, with all of it taken, when it has not ended yet.
bool HttpAnswerReader::TakeLine(absl::string_view& data, absl::string_view& line) {
  const size_t end = data.find('\n');
  const size_t size = std::min(end, data.size());
  if (end == absl::string_view::npos || !half_line_.empty()) half_line_.append(data.data(), size);
  line = WithoutLineEnd(half_line_.empty() ? data.substr(0, size) : absl::string_view(half_line_));
  data.remove_prefix(end == absl::string_view::npos ? size : size + 1);
  return end != absl::string_view::npos;
}

HttpAnswerReader::State HttpAnswerReader::TakeLineOfPart(absl::string_view line) {
  switch (part_) {
    case Part::kHead:
      return TakeHeadLine(line);
    case Part::kChunkSize:
      return TakeChunkSize(line);
    case Part::kChunkEnd:
      part_ = Part::kChunkSize;
      return line.empty() ? State::kGoesOn : State::kNotHttp;
    case Part::kTrailer:
      return line.empty() ? Whole() : State::kGoesOn;
    default:
      return State::kNotHttp;
  }
}

HttpAnswerReader::State HttpAnswerReader::TakeHeadLine(absl::string_view line) {
  head_bytes_ += line.size();
  if (head_bytes_ > kMostHeadBytes) return State::kNotHttp;
  const bool status_line = absl::StartsWith(line, "HTTP/");
  if (status_line) {
    if (!absl::StartsWith(line, "HTTP/1.")) return State::kNotHttp;
    reusable_ = absl::StartsWith(line, "HTTP/1.1");
  }
  if (!http_ && !status_line) return State::kNotHttp;
  http_ = true;
  const bool whole = head_.TakeLine(line);
  if (whole) return TakeHead();
  if (!line.empty()) return State::kGoesOn;
  http_ = false;  // An interim answer: the next status line is to come.
  return head_.status() >= 100 ? State::kGoesOn : State::kNotHttp;
}

HttpAnswerReader::State HttpAnswerReader::TakeHead() {
  if (HasElement(head_.Value("connection"), "close")) reusable_ = false;
  const State state = ChooseBody();
  if (state == State::kNotHttp) return state;
  if (!sink_->OnHead(head_)) return State::kUnwanted;
  return state;
}

HttpAnswerReader::State HttpAnswerReader::ChooseBody() {
  const int status = head_.status();
  if (method_ == HttpMethod::kHead || status == 204 || status == 304) return Whole();
  if (const std::optional<absl::string_view> coding = head_.Find("transfer-encoding")) {
    if (!absl::EqualsIgnoreCase(*coding, "chunked")) return State::kNotHttp;
    part_ = Part::kChunkSize;
    return State::kGoesOn;
  }
  part_ = Part::kUntilEnd;
  if (!head_.Find("content-length")) return State::kGoesOn;
  const std::optional<uint64_t> length = head_.ContentLength();
  if (!length) return State::kNotHttp;
  part_ = Part::kLength;
  left_ = *length;
  return left_ == 0 ? Whole() : State::kGoesOn;
}

HttpAnswerReader::State HttpAnswerReader::TakeChunkSize(absl::string_view line) {
  const absl::string_view digits = absl::StripAsciiWhitespace(line.substr(0, line.find(';')));
  if (digits.size() > kMostChunkDigits || !absl::c_all_of(digits, absl::ascii_isxdigit) ||
      !absl::SimpleHexAtoi(digits, &left_)) {
    return State::kNotHttp;
  }
  part_ = left_ == 0 ? Part::kTrailer : Part::kChunk;
  return State::kGoesOn;
}

HttpAnswerReader::State HttpAnswerReader::TakeBody(absl::string_view& data) {
  const bool until_end = part_ == Part::kUntilEnd;
  const size_t size = until_end ? data.size() : static_cast<size_t>(std::min<uint64_t>(left_, data.size()));
  const absl::string_view bytes = data.substr(0, size);
  data.remove_prefix(size);
  if (!until_end) left_ -= size;
  if (!sink_->OnBody(bytes)) return State::kUnwanted;
  if (until_end || left_ > 0) return State::kGoesOn;
  if (part_ == Part::kLength) return Whole();
  part_ = Part::kChunkEnd;
  return State::kGoesOn;
}

HttpAnswerReader::State HttpAnswerReader::Whole() {
  part_ = Part::kDone;
  return State::kWhole;
}

}  // namespace bucketvol
