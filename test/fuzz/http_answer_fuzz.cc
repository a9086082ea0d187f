#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "mounter/objstore/http_answer_reader.h"

namespace bucketvol {
namespace {

/// Keeps what an answer gives.
class Collector final : public HttpResponseSink {
 public:
  bool OnHead(const HttpResponseHead& head) override {
    absl::StrAppend(&seen, "[", head.status(), " ", head.Value("etag"), "]");
    return true;
  }
  bool OnBody(absl::Span<const char> data) override {
    seen.append(data.data(), data.size());
    return true;
  }
  void OnDone(absl::Status) override { std::abort(); }

  std::string seen;
};

/// What comes of an answer that arrives in pieces of `step` bytes.
std::string Read(HttpMethod method, absl::string_view text, size_t step) {
  Collector sink;
  HttpAnswerReader reader;
  reader.Begin(method, &sink);
  auto state = HttpAnswerReader::State::kGoesOn;
  while (state == HttpAnswerReader::State::kGoesOn && !text.empty()) {
    const size_t size = std::min(step, text.size());
    state = reader.Take({text.data(), size});
    text.remove_prefix(size);
  }
  if (state == HttpAnswerReader::State::kGoesOn) state = reader.TakeEnd();
  return absl::StrCat(sink.seen, " ends ", static_cast<int>(state));
}

}  // namespace
}  // namespace bucketvol

// Answers of a server, cut by the network wherever it likes: the cuts change nothing.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using bucketvol::HttpMethod;
  if (size < 2) return 0;
  const absl::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const HttpMethod method = (data[0] & 1) != 0 ? HttpMethod::kHead : HttpMethod::kGet;
  const std::string whole = bucketvol::Read(method, text, text.size());
  for (const size_t step : {size_t{1}, size_t{2} + data[0] / 2}) {
    if (bucketvol::Read(method, text, step) != whole) std::abort();
  }
  return 0;
}
