#pragma once

#include <utility>

#include "gtest/gtest.h"
#include "mounter/reader/reader.h"
#include "test/reader/manual_store.h"
#include "test/support/fake_clock.h"

namespace bucketvol::testing {

/// A reader over a store whose GETs the test answers by hand; those that it left open end with it.
class ManualReaderTest : public ::testing::Test {
 protected:
  explicit ManualReaderTest(ReaderSettings settings = {.bucket_url = "oss://b"})
      : reader_(store_, clock_, metrics_, std::move(settings)) {}
  ~ManualReaderTest() override { store_.CancelAll(); }

  ManualStore store_;
  FakeClock clock_;
  ReadMetrics metrics_;
  Reader reader_;
};

}  // namespace bucketvol::testing
