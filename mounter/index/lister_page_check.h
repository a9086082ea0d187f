#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "mounter/objstore/object_store.h"

namespace bucketvol {

/// Says what is wrong with a page of the keys under `prefix` behind `after`: keys outside the prefix, at or
/// before `after` (a repeated page), not strictly increasing. OK means that it may be used. The message shows
/// the keys, made printable.
absl::Status CheckListPage(absl::string_view prefix, absl::string_view after, const ListPage& page);

/// How many objects of the page lie at or before `end` (all of them when there is no end).
size_t CountUpTo(const ListPage& page, const std::optional<std::string>& end);

}  // namespace bucketvol
