#pragma once

#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "mounter/session/request_slots.h"

namespace bucketvol::testing {

/// Memory for requests, as a guard makes it.
inline RequestSlots MakeSlots(const SlotsLayout& layout = {}) {
  std::string why;
  auto slots = RequestSlots::Create(layout, why);
  EXPECT_TRUE(slots.has_value()) << why;
  return std::move(*slots);
}

}  // namespace bucketvol::testing
