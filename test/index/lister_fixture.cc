#include "test/index/lister_fixture.h"

namespace bucketvol::testing {

absl::Status CollectingSink::Add(absl::Span<const ListedObject> objects) {
  ++calls;
  for (const ListedObject& object : objects) {
    const FakeObject expected = FakeMetadata(object.key);
    if (object.etag != expected.etag || object.size != expected.size ||
        object.modified_ms != expected.modified_ms) {
      ++wrong_metadata;
    }
    if (!keys.empty() && object.key <= keys.back()) ++out_of_order;
    keys.emplace_back(object.key);
  }
  return answer;
}

void ListerRig::Put(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) store.Put(key, FakeMetadata(key));
}

absl::Status ListerRig::Run(ListerSettings settings, std::shared_ptr<Cancellation> cancellation) {
  if (!std::exchange(running_, true)) time.RunInBackground();
  sink.keys.clear();
  lister = std::make_unique<Lister>(store, time, time, std::move(settings));
  return lister->Run(sink, std::move(cancellation));
}

}  // namespace bucketvol::testing
