#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "mounter/index/lister.h"
#include "test/support/fake_object_store.h"
#include "test/support/virtual_time.h"

namespace bucketvol::testing {

/// Keeps what it gets, and counts what is not in order.
class CollectingSink final : public ListingSink {
 public:
  absl::Status Add(absl::Span<const ListedObject> objects) override;

  std::vector<std::string> keys;
  size_t calls = 0;
  size_t wrong_metadata = 0;  // Objects whose metadata is not FakeMetadata of their key.
  size_t out_of_order = 0;
  absl::Status answer;  // What Add returns.
};

/// A lister over a fake store under simulated time.
class ListerRig {
 public:
  explicit ListerRig(VirtualTime::Order order = VirtualTime::Order::kPosted, uint64_t seed = 1)
      : time(order, seed) {}

  void Put(const std::vector<std::string>& keys);
  absl::Status Run(ListerSettings settings, std::shared_ptr<Cancellation> cancellation = nullptr);
  size_t lists() const { return store.Count(FakeRequest::Op::kList); }

  VirtualTime time;
  FakeObjectStore store{time};
  CollectingSink sink;
  std::unique_ptr<Lister> lister;  // Of the latest run.

 private:
  bool running_ = false;
};

}  // namespace bucketvol::testing
