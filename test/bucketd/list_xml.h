#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "test/bucketd/bucket.h"
#include "test/bucketd/service_error.h"

namespace bucketvol::bucketd {

enum class ListVersion { kV1, kV2, kVersions };

/// The question of one listing, decoded.
struct ListQuery {
  Dialect dialect = Dialect::kS3;
  ListVersion version = ListVersion::kV2;
  std::string prefix;
  std::string delimiter;
  std::string marker;              // V1 marker, V2 start-after, key-marker.
  std::string continuation_token;  // V2, as given.
  size_t max_keys = 1000;
  bool url_encoding = false;
  bool owner = false;
};

/// Ways to spoil a page, for tests of clients.
enum class ListDamage { kNone, kEmptyTruncated, kRepeatPage, kOutOfOrder, kBadXml, kCutXml };

/// A page as XML: head, then body.
struct ListDocument {
  std::string head;
  std::string body;
};

/// Tokens hide the last key or prefix of the page; clients must treat them as opaque.
std::string MakeContinuationToken(absl::string_view last);
/// False: not one of ours.
bool ReadContinuationToken(absl::string_view token, std::string& last);

/// Lists one page of `bucket`. The token must be readable.
ListDocument WriteListPage(Bucket& bucket, const ListQuery& query, ListDamage damage = ListDamage::kNone);

}  // namespace bucketvol::bucketd
