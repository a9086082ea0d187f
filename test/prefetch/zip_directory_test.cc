#include "mounter/prefetch/zip_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "test/support/file_formats.h"

namespace bucketvol {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using testing::ZipEnd;

constexpr uint64_t kMiB = 1 << 20;

std::string Last(const std::string& end) {
  return (std::string(ZipDirectory::kEndBytes, '\0') + end).substr(end.size());
}

TEST(ZipDirectory, TheEndTellsWhereItIs) {
  const std::string end = ZipEnd(90 * kMiB, {0, 20 * kMiB, 50 * kMiB});
  const std::string directory = end.substr(0, end.size() - 22);
  EXPECT_THAT(ZipDirectory::Range(Last(end), 90 * kMiB + end.size()),
              Optional(ByteRange{90 * kMiB, 90 * kMiB + directory.size()}));
}

TEST(ZipDirectory, MembersBeginAtBoundaries) {
  const std::string end = ZipEnd(90 * kMiB, {50 * kMiB, 0, 100, 20 * kMiB});
  const std::string directory = end.substr(0, end.size() - 22);
  EXPECT_THAT(ZipDirectory::Boundaries(directory, {90 * kMiB, 90 * kMiB + directory.size()}),
              Optional(ElementsAre(0, 20 * kMiB, 50 * kMiB, 90 * kMiB)));
}

TEST(ZipDirectory, ArchivesOfMoreThanFourGigabytes) {
  const uint64_t offset = 6000 * kMiB;
  const std::string end = ZipEnd(offset, {0, 5000 * kMiB}, /*wide=*/true);
  const ByteRange range{offset, offset + end.size() - ZipDirectory::kEndBytes};
  EXPECT_THAT(ZipDirectory::Range(Last(end), offset + end.size()), Optional(range));
  EXPECT_THAT(ZipDirectory::Boundaries(end.substr(0, range.size()), range),
              Optional(ElementsAre(0, 5000 * kMiB, offset)));
}

TEST(ZipDirectory, WhatDoesNotFitTheObjectIsNone) {
  const std::string end = ZipEnd(90 * kMiB, {0});
  EXPECT_EQ(ZipDirectory::Range(Last(end), 90 * kMiB), std::nullopt);
  EXPECT_EQ(ZipDirectory::Range(Last(end).substr(1), 91 * kMiB), std::nullopt);
  EXPECT_EQ(ZipDirectory::Range(std::string(ZipDirectory::kEndBytes, 'x'), 91 * kMiB), std::nullopt);
  std::string huge = Last(ZipEnd(0, {0}, /*wide=*/true));
  StoreLittle<uint64_t>(huge.data() + 40, UINT64_MAX);
  EXPECT_EQ(ZipDirectory::Range(huge, 91 * kMiB), std::nullopt);
}

TEST(ZipDirectory, CutOffOrWrongIsNoHint) {
  const std::string end = ZipEnd(90 * kMiB, {0, 5000 * kMiB});  // The second lies behind the directory.
  const std::string directory = end.substr(0, end.size() - 22);
  EXPECT_EQ(ZipDirectory::Boundaries(directory, {90 * kMiB, 90 * kMiB + directory.size()}), std::nullopt);
  const std::string good = ZipEnd(90 * kMiB, {0, 5 * kMiB}).substr(0, 100);
  for (size_t length = 0; length < good.size(); ++length) {
    const ByteRange range{90 * kMiB, 90 * kMiB + length};
    const auto boundaries = ZipDirectory::Boundaries(good.substr(0, length), range);
    EXPECT_EQ(boundaries.has_value(), length == good.size() / 2 + 10) << length;
  }
}

}  // namespace
}  // namespace bucketvol
