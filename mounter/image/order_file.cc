#include "mounter/image/order_file.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "mounter/base/coding.h"
#include "mounter/base/crc.h"
#include "mounter/base/file.h"
#include "mounter/base/status_macros.h"
#include "mounter/index/sealed_file.h"

namespace bucketvol {
namespace {

constexpr SealedFormat kFormat = {"recorded order", "BVORDER\n", 1};
constexpr size_t kRowBytes = 4;
constexpr size_t kHeadBytes = kSealedHeadBytes + 8 + 4 + 1 + 8 + 4;
constexpr size_t kRowsAt = 64;
static_assert(kHeadBytes <= kRowsAt);

struct Head {
  OrderSubject subject;
  bool open = false;
  uint64_t count = 0;
  uint32_t checksum = 0;
};

std::string EncodeHead(const Head& head) {
  std::string bytes = SealedHead(kFormat);
  AppendLittle(bytes, head.subject.rows);
  AppendLittle(bytes, head.subject.checksum);
  AppendLittle(bytes, static_cast<uint8_t>(head.open ? 1 : 0));
  AppendLittle(bytes, head.count);
  AppendLittle(bytes, head.checksum);
  Seal(bytes);
  return bytes;
}

absl::StatusOr<Head> DecodeHead(absl::string_view bytes) {
  RETURN_IF_ERROR(CheckFormat(kFormat, bytes));
  RETURN_IF_ERROR(CheckSeal(kFormat, bytes));
  const char* field = bytes.data() + kSealedHeadBytes;
  Head head;
  head.subject.rows = LoadLittle<uint64_t>(field);
  head.subject.checksum = LoadLittle<uint32_t>(field + 8);
  head.open = field[12] != 0;
  head.count = LoadLittle<uint64_t>(field + 13);
  head.checksum = LoadLittle<uint32_t>(field + 21);
  if (head.count > head.subject.rows) return DamagedFile(kFormat, "count");
  return head;
}

std::string EncodeRows(absl::Span<const uint32_t> rows) {
  std::string bytes(rows.size() * kRowBytes, '\0');
  for (size_t i = 0; i < rows.size(); ++i) StoreLittle(&bytes[i * kRowBytes], rows[i]);
  return bytes;
}

// Appends as many rows as `out` is to hold, or all. The checksum is of all.
absl::Status ReadRows(const UniqueFd& file, const Head& head, uint64_t most, std::vector<uint32_t>& out) {
  constexpr uint64_t kRowsAtOnce = 64 << 10;
  uint32_t checksum = 0;
  for (uint64_t done = 0; done < head.count;) {
    std::string bytes(std::min(head.count - done, kRowsAtOnce) * kRowBytes, '\0');
    RETURN_IF_ERROR(
        ReadExactlyAt(file.get(), absl::MakeSpan(bytes), kRowsAt + done * kRowBytes, kFormat.name));
    checksum = Crc32c(checksum, bytes);
    for (size_t at = 0; at < bytes.size(); at += kRowBytes, ++done) {
      const auto row = LoadLittle<uint32_t>(&bytes[at]);
      if (row >= head.subject.rows) return DamagedFile(kFormat, "row");
      if (out.size() < most) out.push_back(row);
    }
  }
  return checksum == head.checksum ? absl::OkStatus() : DamagedFile(kFormat, "rows");
}

}  // namespace

absl::StatusOr<OrderSubject> OrderSubject::Of(const ObjectTable& table) {
  ASSIGN_OR_RETURN(const uint32_t checksum, table.Checksum());
  return OrderSubject{table.rows(), checksum};
}

absl::StatusOr<StoredOrder> ReadOrder(const std::string& directory, const OrderSubject& subject,
                                      uint64_t most) {
  ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(absl::StrCat(directory, "/", kOrderName), O_RDONLY));
  std::string bytes(kHeadBytes, '\0');
  RETURN_IF_ERROR(ReadExactlyAt(file.get(), absl::MakeSpan(bytes), 0, kFormat.name));
  ASSIGN_OR_RETURN(const Head head, DecodeHead(bytes));
  if (head.subject != subject) return absl::NotFoundError("the recorded order is of another listing");
  StoredOrder order;
  order.open = head.open;
  order.rows.reserve(std::min(head.count, most));
  RETURN_IF_ERROR(ReadRows(file, head, most, order.rows));
  return order;
}

absl::StatusOr<OrderFile> OrderFile::Create(const std::string& directory, const OrderSubject& subject) {
  ASSIGN_OR_RETURN(StagedFile file, StagedFile::Create(directory, kOrderName));
  return OrderFile(directory, subject, std::move(file));
}

absl::Status OrderFile::Append(absl::Span<const uint32_t> rows) {
  const std::string bytes = EncodeRows(rows);
  RETURN_IF_ERROR(file_.WriteAt(bytes, kRowsAt + count_ * kRowBytes));
  count_ += rows.size();
  checksum_ = Crc32c(checksum_, bytes);
  return absl::OkStatus();
}

absl::Status OrderFile::Commit(bool open) {
  RETURN_IF_ERROR(file_.WriteAt(EncodeHead({subject_, open, count_, checksum_}), 0));
  if (std::exchange(published_, true)) return absl::OkStatus();
  return PublishFiles(directory_, {&file_});
}

}  // namespace bucketvol
