#pragma once

#include <fcntl.h>

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "mounter/cache/node_ledger.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {

/// The files of a node's memory, in a directory of their own.
class NodeMemoryRig {
 public:
  NodeMemoryRig() { Resize(NodeLedger::TableBytes()); }

  UniqueFd Open(const std::string& name) const {
    return UniqueFd(open((dir_ / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }
  void Resize(uint64_t bytes) const {
    EXPECT_EQ(ftruncate(Open("table").get(), static_cast<off_t>(bytes)), 0);
  }
  absl::StatusOr<std::unique_ptr<NodeLedger>> Map() const {
    return NodeLedger::Map(Open("table"), Open("locks"));
  }

 private:
  TempDir dir_;
};

}  // namespace bucketvol::testing
