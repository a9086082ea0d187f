// The reader of a recorded order and what takes its rows, with bytes as they come and with both checksums set
// right, so that the fields and the rows are reached too.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "mounter/base/coding.h"
#include "mounter/base/crc.h"
#include "mounter/image/order_file.h"
#include "mounter/index/sealed_file.h"
#include "mounter/prefetch/object_order.h"
#include "mounter/prefetch/order_recorder.h"
#include "test/support/temp_dir.h"

namespace bucketvol {
namespace {

// FORMAT.md.
constexpr size_t kRowsOfTableAt = 16, kChecksumOfTableAt = 24, kCountAt = 29, kChecksumAt = 37;
constexpr size_t kHeadBytes = 41, kRowsAt = 64, kRowBytes = 4;
constexpr uint64_t kMost = 1000;
constexpr uint64_t kMostResumed = 1 << 16;  // A recorder has a bit for each object of the table.

void Require(bool holds) {
  if (!holds) std::abort();
}

absl::StatusOr<StoredOrder> Read(const std::string& bytes, uint64_t most) {
  static const testing::TempDir directory;
  std::ofstream(directory / kOrderName, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  if (bytes.size() < kHeadBytes) return ReadOrder(directory.path(), {}, most);
  const OrderSubject subject{.rows = LoadLittle<uint64_t>(&bytes[kRowsOfTableAt]),
                             .checksum = LoadLittle<uint32_t>(&bytes[kChecksumOfTableAt])};
  return ReadOrder(directory.path(), subject, most);
}

void CheckFollowing(const StoredOrder& stored) {
  const ObjectOrder order(stored.rows);
  for (size_t i = 0; i < order.ordinals().size(); ++i) Require(order.PositionOf(order.ordinals()[i]) == i);
  for (const uint32_t row : stored.rows) Require(order.PositionOf(row).has_value());
}

void CheckGoingOn(const StoredOrder& stored, uint64_t objects) {
  OrderRecorder recorder(objects, kMost);
  recorder.Resume(stored.rows);
  Require(recorder.count() == ObjectOrder(stored.rows).ordinals().size());
  for (const uint32_t row : stored.rows) {
    for (const uint32_t added : recorder.Add(row).added) Require(added < objects);
  }
}

void Check(const std::string& bytes) {
  const auto stored = Read(bytes, kMost);
  if (!stored.ok()) return;
  const auto objects = LoadLittle<uint64_t>(&bytes[kRowsOfTableAt]);
  Require(stored->rows.size() == std::min(LoadLittle<uint64_t>(&bytes[kCountAt]), kMost));
  for (const uint32_t row : stored->rows) Require(row < objects);
  CheckFollowing(*stored);
  if (objects <= kMostResumed) CheckGoingOn(*stored, objects);
  const auto beginning = Read(bytes, stored->rows.size() / 2);
  Require(beginning.ok() && std::equal(beginning->rows.begin(), beginning->rows.end(), stored->rows.begin()));
}

// Sets the checksum of the rows that the head counts, as far as the file has them, and that of the head.
void SealAll(std::string& bytes) {
  if (bytes.size() < kRowsAt) return;
  const uint64_t there = (bytes.size() - kRowsAt) / kRowBytes;
  const uint64_t count = std::min(LoadLittle<uint64_t>(&bytes[kCountAt]), there);
  StoreLittle(&bytes[kChecksumAt], Crc32c(0, absl::string_view(bytes).substr(kRowsAt, count * kRowBytes)));
  std::string head = bytes.substr(0, kHeadBytes);
  Seal(head);
  bytes.replace(0, kHeadBytes, head);
}

}  // namespace
}  // namespace bucketvol

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  bucketvol::Check(bytes);
  bucketvol::SealAll(bytes);
  bucketvol::Check(bytes);
  return 0;
}
