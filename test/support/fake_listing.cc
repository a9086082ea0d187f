#include "test/support/fake_listing.h"

#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace bucketvol::testing {
namespace {

constexpr absl::string_view kTokenFrom = "from:";  // Then the first key that may appear.

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t Hash(absl::string_view text) {
  uint64_t hash = 0x9e3779b97f4a7c15u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return Mix(hash);
}

void AppendHex(std::string& out, uint64_t value) {
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back("0123456789ABCDEF"[(value >> shift) & 15]);
}

// The first string after all that begin with `prefix`; empty when there is none.
std::string Successor(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

// Collects the strings of a page while its buffer may still move.
class PageWriter {
 public:
  explicit PageWriter(int max_keys) { rows_.reserve(static_cast<size_t>(max_keys)); }

  void AddObject(absl::string_view key, const FakeObject& object) {
    rows_.push_back({text_.size(), key.size(), object.etag.size(), object.size, object.modified_ms,
                     object.kind, object.archived});
    absl::StrAppend(&text_, key, object.etag);
  }
  void AddPrefix(absl::string_view prefix) {
    prefixes_.emplace_back(text_.size(), prefix.size());
    absl::StrAppend(&text_, prefix);
  }
  int count() const { return static_cast<int>(rows_.size() + prefixes_.size()); }

  ListPage Finish() && {
    ListPage page;
    page.storage = std::make_unique<char[]>(text_.size() + 1);
    const char* base = page.storage.get();
    std::memcpy(page.storage.get(), text_.data(), text_.size());
    page.objects.reserve(rows_.size());
    for (const Row& row : rows_) {
      page.objects.push_back({.key = {base + row.offset, row.key_size},
                              .etag = {base + row.offset + row.key_size, row.etag_size},
                              .size = row.size,
                              .modified_ms = row.modified_ms,
                              .kind = row.kind,
                              .archived = row.archived});
    }
    for (const auto& [offset, size] : prefixes_) page.common_prefixes.emplace_back(base + offset, size);
    page.body_bytes = 250 * rows_.size() + 600;
    return page;
  }

 private:
  struct Row {
    size_t offset;
    size_t key_size;
    size_t etag_size;
    uint64_t size;
    int64_t modified_ms;
    ListedObject::Kind kind;
    bool archived;
  };
  std::string text_;
  std::vector<Row> rows_;
  std::vector<std::pair<size_t, size_t>> prefixes_;
};

// Walks stored objects and a sequence as one sorted listing; a stored object hides the sequence's key of its
// name.
class Cursor {
 public:
  Cursor(const FakeObjects& objects, const KeySequence* sequence)
      : objects_(objects), sequence_(sequence), size_(sequence == nullptr ? 0 : sequence->size()) {}

  void Seek(const std::string& key) {
    stored_ = objects_.lower_bound(key);
    index_ = size_ == 0 ? 0 : sequence_->LowerBound(key);
    ReadSequence();
  }
  bool valid() const { return stored_ != objects_.end() || index_ < size_; }
  absl::string_view key() const { return at_stored() ? stored_->first : sequence_key_; }
  FakeObject object() const { return at_stored() ? stored_->second.object : FakeMetadata(sequence_key_); }
  void Next() {
    const bool stored = at_stored();
    if (index_ < size_ && sequence_key_ == key()) {
      ++index_;
      ReadSequence();
    }
    if (stored) ++stored_;
  }

 private:
  bool at_stored() const {
    return stored_ != objects_.end() && (index_ >= size_ || stored_->first <= sequence_key_);
  }
  void ReadSequence() {
    if (index_ < size_) sequence_->KeyAt(index_, sequence_key_);
  }

  const FakeObjects& objects_;
  const KeySequence* sequence_;
  const uint64_t size_;
  FakeObjects::const_iterator stored_;
  uint64_t index_ = 0;
  std::string sequence_key_;
};

void SeekStart(Cursor& cursor, const ListRequest& request) {
  const absl::string_view token = request.continuation_token;
  if (absl::StartsWith(token, kTokenFrom)) return cursor.Seek(std::string(token.substr(kTokenFrom.size())));
  if (request.start_after.empty() || request.start_after < request.prefix) return cursor.Seek(request.prefix);
  cursor.Seek(request.start_after);
  if (cursor.valid() && cursor.key() == request.start_after) cursor.Next();
}

}  // namespace

uint64_t KeySequence::LowerBound(absl::string_view key) const {
  uint64_t low = 0;
  uint64_t high = size();
  std::string probe;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    KeyAt(middle, probe);
    if (absl::string_view(probe) < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::string FakeETag(absl::string_view text) {
  std::string etag;
  const uint64_t hash = Hash(text);
  AppendHex(etag, hash);
  AppendHex(etag, Mix(hash + 1));
  return etag;
}

FakeObject FakeMetadata(absl::string_view key) {
  const uint64_t hash = Hash(key);
  FakeObject object;
  object.etag = FakeETag(key);
  object.size = hash % 1'000'000;
  object.modified_ms = 1'700'000'000'000 + static_cast<int64_t>(hash >> 40) * 1000;
  return object;
}

void FakeContent(absl::string_view key, uint64_t offset, absl::Span<char> out) {
  const uint64_t seed = Hash(key);
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t position = offset + i;
    out[i] = static_cast<char>(Mix(seed + position / 8) >> (position % 8 * 8));
  }
}

ListPage MakeListPage(const ListRequest& request, int limit, const FakeObjects& objects,
                      const KeySequence* sequence) {
  PageWriter writer(limit);
  std::string next_token;
  Cursor cursor(objects, sequence);
  SeekStart(cursor, request);
  while (cursor.valid() && absl::StartsWith(cursor.key(), request.prefix)) {
    const absl::string_view key = cursor.key();
    if (writer.count() == limit) {
      next_token = absl::StrCat(kTokenFrom, key);
      break;
    }
    const size_t cut =
        request.delimiter.empty() ? std::string::npos : key.find(request.delimiter, request.prefix.size());
    if (cut == std::string::npos) {
      writer.AddObject(key, cursor.object());
      cursor.Next();
    } else {
      const std::string group(key.substr(0, cut + request.delimiter.size()));
      writer.AddPrefix(group);
      cursor.Seek(Successor(group));
    }
  }
  ListPage page = std::move(writer).Finish();
  page.truncated = !next_token.empty();
  page.next_token = std::move(next_token);
  return page;
}

}  // namespace bucketvol::testing
