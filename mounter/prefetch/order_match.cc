#include "mounter/prefetch/order_match.h"

#include <algorithm>
#include <bit>

namespace bucketvol {

namespace {

constexpr uint64_t kNearOf = 16;  // So large a part of the order is near.
constexpr uint64_t kMostNear = 4096;
constexpr uint64_t kNowhere = uint64_t{1} << 62;  // Far from every position.
constexpr int kBegins = 12;                       // Of 16.
constexpr int kEnds = 12;                         // Of 32.

int Agreements(uint64_t history, int touches) {
  return std::popcount(history & ((uint64_t{1} << touches) - 1));
}

}  // namespace

OrderMatch::OrderMatch(uint64_t objects, OrderTrust trust)
    : near_(std::clamp<uint64_t>(objects / kNearOf, 4, kMostNear)),
      looked_at_(std::min(near_, kRemembered)),
      follows_(trust == OrderTrust::kAtFirst),
      history_(follows_ ? UINT64_MAX : 0) {
  recent_.fill(kNowhere);
}

bool OrderMatch::Agrees(uint64_t position) const {
  uint64_t agreeing = 0;
  for (uint64_t ago = 1; ago <= looked_at_; ++ago) {
    const uint64_t other = recent_[(touches_ - ago) % kRemembered];
    agreeing += position - other + near_ <= 2 * near_ ? 1 : 0;  // In either direction: it wraps.
  }
  return agreeing >= looked_at_ / 4;
}

bool OrderMatch::Note(std::optional<uint64_t> position) {
  const bool agrees = position && Agrees(*position);
  recent_[touches_++ % kRemembered] = position.value_or(kNowhere);
  history_ = history_ << 1 | (agrees ? 1 : 0);
  follows_ = follows_ ? Agreements(history_, 32) >= kEnds : Agreements(history_, 16) >= kBegins;
  return follows_;
}

}  // namespace bucketvol
