#include "mounter/index/lister_key_space.h"

#include <algorithm>

#include "absl/strings/match.h"

namespace bucketvol {
namespace {

constexpr size_t kMaxPointBytes = 1023;
// Bytes that are not UTF-8 become symbols of their own behind all characters.
constexpr Symbol kStrayByte = 0x110000;
// Sets larger than this say no more than "anything".
constexpr size_t kMaxSetSize = 256;
constexpr size_t kMaxLevels = 16;
constexpr size_t kMaxNamePositions = 64;
// So many positions behind the common beginning of a page are looked at: a page has no more than 1,000 keys.
constexpr size_t kVariedPositions = 20;
// How many positions lend their symbols to the one before them: hashes and counters are at least so long.
constexpr size_t kNeighbours = 3;
// A double holds 53 bits; what this leaves is for positions within a page.
constexpr double kMaxScale = 1e11;
constexpr double kLeastScale = 1e-16;
constexpr uint64_t kEnoughEnds = 2;
constexpr double kLeastWidth = 1e-15;
// A point is written down to this part of a page.
constexpr double kPointPrecision = 0.2;

size_t CommonPrefix(SymbolsView a, SymbolsView b) {
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first - a.begin());
}

const SymbolSet& Digits() {
  static const SymbolSet digits('0', '9');
  return digits;
}

struct LeadByte {
  size_t length = 0;  // Of the character that begins so; 0: none does.
  unsigned char second_low = 0x80;
  unsigned char second_high = 0xBF;
};

LeadByte LeadOf(unsigned char byte) {
  if (byte < 0x80) return {1};
  if (byte >= 0xC2 && byte <= 0xDF) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  if (byte >= 0xF1 && byte <= 0xF3) return {4};
  return {0};
}

// Takes one symbol off the front of `text`.
Symbol NextSymbol(absl::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const LeadByte lead = LeadOf(byte(0));
  bool valid = lead.length > 0 && lead.length <= text.size();
  Symbol symbol = lead.length == 1 ? byte(0) : byte(0) & (0x7f >> lead.length);
  for (size_t i = 1; valid && i < lead.length; ++i) {
    const unsigned char low = i == 1 ? lead.second_low : 0x80;
    const unsigned char high = i == 1 ? lead.second_high : 0xBF;
    valid = byte(i) >= low && byte(i) <= high;
    symbol = symbol << 6 | (byte(i) & 0x3f);
  }
  if (!valid) symbol = kStrayByte + byte(0);
  text.remove_prefix(valid ? lead.length : 1);
  return symbol;
}

void AppendSymbol(std::string& out, Symbol symbol) {
  const auto append = [&](Symbol byte) { out.push_back(static_cast<char>(byte)); };
  const auto append_low = [&](int shift) { append(0x80 | (symbol >> shift & 0x3f)); };
  if (symbol >= kStrayByte) {
    append(symbol - kStrayByte);
  } else if (symbol < 0x80) {
    append(symbol);
  } else if (symbol < 0x800) {
    append(0xC0 | symbol >> 6);
    append_low(0);
  } else if (symbol < 0x10000) {
    append(0xE0 | symbol >> 12);
    append_low(6);
    append_low(0);
  } else {
    append(0xF0 | symbol >> 18);
    append_low(12);
    append_low(6);
    append_low(0);
  }
}

size_t Levels(absl::string_view path) {
  return static_cast<size_t>(std::count(path.begin(), path.end(), '/'));
}

// How many directories both paths go through.
size_t CommonLevels(absl::string_view a, absl::string_view b) {
  const auto same = std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first;
  return static_cast<size_t>(std::count(a.begin(), same, '/'));
}

// Where a position of a key is in the tree.
struct NamePosition {
  size_t level = 0;
  size_t position = 0;
};

NamePosition NamePositionAt(SymbolsView key, size_t position) {
  NamePosition at;
  const size_t end = std::min(position, key.size());
  for (size_t i = 0; i < end; ++i) {
    at.position = key[i] == '/' ? 0 : at.position + 1;
    if (key[i] == '/') ++at.level;
  }
  return at;
}

}  // namespace

Symbols ToSymbols(absl::string_view key) {
  Symbols symbols;
  symbols.reserve(key.size());
  while (!key.empty()) symbols.push_back(NextSymbol(key));
  return symbols;
}

std::string ToBytes(SymbolsView symbols) {
  std::string bytes;
  for (const Symbol symbol : symbols) AppendSymbol(bytes, symbol);
  return bytes;
}

SymbolSet::SymbolSet(Symbol first, Symbol last) {
  for (Symbol symbol = first; symbol <= last; ++symbol) symbols_.push_back(symbol);
}

void SymbolSet::Add(Symbol symbol) {
  const auto at = std::lower_bound(symbols_.begin(), symbols_.end(), symbol);
  if ((at != symbols_.end() && *at == symbol) || symbols_.size() >= kMaxSetSize) return;
  symbols_.insert(at, symbol);
}

void SymbolSet::AddAll(const SymbolSet& other) {
  for (const Symbol symbol : other.symbols_) Add(symbol);
}

bool SymbolSet::Contains(Symbol symbol) const {
  return std::binary_search(symbols_.begin(), symbols_.end(), symbol);
}

bool SymbolSet::ContainsAll(const SymbolSet& other) const {
  return std::includes(symbols_.begin(), symbols_.end(), other.symbols_.begin(), other.symbols_.end());
}

size_t SymbolSet::Rank(Symbol symbol) const {
  return static_cast<size_t>(std::lower_bound(symbols_.begin(), symbols_.end(), symbol) - symbols_.begin());
}

size_t LearningStep(size_t objects) {
  constexpr size_t kStep = 13;  // A prime, so that it does not fall into step with counters.
  return objects > 10 * kStep ? kStep : 1;
}

void KeyAlphabet::Learn(absl::string_view key) {
  for (size_t level = 0; !key.empty() && level < kMaxLevels; ++level) {
    const size_t slash = key.find('/');
    const absl::string_view segment = key.substr(0, slash == absl::string_view::npos ? slash : slash + 1);
    Learn(slash == absl::string_view::npos ? names_ : directories_, level, segment);
    key.remove_prefix(segment.size());
  }
}

void KeyAlphabet::Learn(SetsByLevel& levels, size_t level, absl::string_view segment) {
  if (level >= levels.size()) levels.resize(level + 1);
  std::vector<SymbolSet>& positions = levels[level];
  for (size_t i = 0; i < kMaxNamePositions && !segment.empty(); ++i) {
    if (i == positions.size()) positions.emplace_back();
    positions[i].Add(NextSymbol(segment));
  }
}

void KeyAlphabet::LearnEnd(absl::string_view directory, absl::string_view next) {
  const size_t level = CommonLevels(directory, next);
  const size_t depth = Levels(directory);
  // When only names follow, which sort behind its sub-directories, those are complete as well.
  const bool back_to_parent = absl::StartsWith(directory, next);
  for (size_t i = back_to_parent ? level : level + 1; i <= depth; ++i) NoteEnd(i);
}

void KeyAlphabet::LearnGap(absl::string_view point, absl::string_view next) {
  const size_t level = CommonLevels(point, next);
  if (Levels(point) > level) NoteEnd(level + 1);
  if (Levels(next) == level) NoteEnd(level);
}

void KeyAlphabet::LearnWhole(absl::string_view directory) { NoteEnd(Levels(directory), kEnoughEnds); }

void KeyAlphabet::NoteEnd(size_t level, uint64_t weight) {
  if (ends_.size() <= level) ends_.resize(level + 1);
  ends_[level] += weight;
}

bool KeyAlphabet::Complete(size_t level) const { return level < ends_.size() && ends_[level] >= kEnoughEnds; }

const SymbolSet& KeyAlphabet::At(Kind kind, size_t level, size_t position) const {
  static const SymbolSet nothing;
  const SetsByLevel& levels = kind == Kind::kDirectory ? directories_ : names_;
  if (level >= levels.size() || position >= levels[level].size()) return nothing;
  return levels[level][position];
}

PageSpan::PageSpan(std::string asked_after, absl::Span<const ListedObject> objects)
    : after(std::move(asked_after)), keys(objects.size()) {
  last = ToSymbols(objects.back().key);
  first = keys > 1 ? ToSymbols(objects.front().key) : ToSymbols(after);
  common = CommonPrefix(first, last);
  varied.resize(std::min(kVariedPositions, last.size() - common + 1));
  const size_t common_bytes = ToBytes(SymbolsView(last).substr(0, common)).size();
  const size_t step = LearningStep(objects.size());
  for (size_t i = 0; i < objects.size(); i += step) {
    absl::string_view rest = objects[i].key.substr(std::min(common_bytes, objects[i].key.size()));
    for (size_t j = 0; j < varied.size() && !rest.empty(); ++j) varied[j].Add(NextSymbol(rest));
  }
  for (size_t j = 0; j < varied.size() && common + j < last.size(); ++j) varied[j].Add(last[common + j]);
}

KeyRuler::KeyRuler(const KeyAlphabet& alphabet, Trust trust, const Symbols& begin, size_t common,
                   const std::vector<SymbolSet>& varied, size_t directory_symbols, size_t prefix_symbols,
                   const std::optional<Symbols>& end)
    : alphabet_(alphabet),
      trust_(trust),
      begin_(begin),
      common_(common),
      varied_(varied),
      prefix_symbols_(prefix_symbols),
      directory_symbols_(directory_symbols) {
  const size_t end_level = end ? CommonPrefix(begin_, *end) : prefix_symbols_;
  const size_t lowest = std::min(common_, end_level);
  level_ = common_;
  for (double scale = 1; level_ > lowest; --level_) {
    scale *= static_cast<double>(Expected(level_ - 1).size());
    if (scale > kMaxScale) break;
  }
  beyond_ = level_ > end_level;
  last_ = Measure(begin_);
  end_ = !end || beyond_ ? 1.0 : std::max(Measure(*end), last_);
}

KeyRuler KeyRuler::OfPage(const KeyAlphabet& alphabet, Trust trust, const PageSpan& page,
                          size_t prefix_symbols, const std::optional<Symbols>& end) {
  const size_t slash = page.last.rfind(U'/');
  KeyRuler ruler(alphabet, trust, page.last, page.common, page.varied, slash == Symbols::npos ? 0 : slash,
                 prefix_symbols, end);
  const double width = ruler.last_ - ruler.Measure(page.first);
  const double gaps = page.keys > 1 ? static_cast<double>(page.keys - 1) : 1.0;
  ruler.page_width_ = std::max(width * static_cast<double>(page.keys) / gaps, kLeastWidth);
  return ruler;
}

KeyRuler KeyRuler::OfDirectory(const KeyAlphabet& alphabet, Trust trust, const Symbols& directory,
                               double directory_pages, Below below, size_t prefix_symbols,
                               const std::optional<Symbols>& end) {
  static const std::vector<SymbolSet> nothing;
  KeyRuler ruler(alphabet, trust, directory, directory.size(), nothing, directory.size(), prefix_symbols,
                 end);
  ruler.below_ = below;
  if (end && !ruler.beyond_) ruler.end_ = ruler.Measure(*end);
  double step = 1;  // To the next directory.
  for (size_t i = ruler.level_; i < directory.size(); ++i)
    step /= static_cast<double>(ruler.Cached(i).size());
  ruler.page_width_ = std::max(step / directory_pages, kLeastWidth);
  ruler.last_ += step;
  ruler.end_ = std::max(ruler.end_, ruler.last_);
  return ruler;
}

SymbolSet KeyRuler::Known(size_t position) const {
  if (position < common_) return SymbolSet(begin_[position], begin_[position]);
  return position - common_ < varied_.size() ? varied_[position - common_] : SymbolSet();
}

SymbolSet KeyRuler::Expected(size_t position) const {
  SymbolSet known = Known(position);
  if (known.size() == 0) return known;
  SymbolSet expected = known;
  const NamePosition at = NamePositionAt(begin_, position);
  const bool in_directory_name = position < directory_symbols_;
  const SymbolSet& seen = alphabet_.At(
      in_directory_name ? KeyAlphabet::Kind::kDirectory : KeyAlphabet::Kind::kName, at.level, at.position);
  if (trust_ == Trust::kYes && in_directory_name && alphabet_.Complete(at.level)) {
    expected.AddAll(seen);
    return expected;
  }
  if (Digits().ContainsAll(known)) {
    expected = Digits();
  } else if (known.size() == 1) {
    expected.AddAll(seen);
  }
  for (size_t i = position + 1; i <= position + kNeighbours; ++i) {
    const SymbolSet neighbour = Known(i);
    if (neighbour.size() > known.size() && neighbour.ContainsAll(known)) expected.AddAll(neighbour);
  }
  return expected;
}

const SymbolSet& KeyRuler::Cached(size_t position) const {
  while (level_ + expected_.size() <= position) expected_.push_back(Expected(level_ + expected_.size()));
  return expected_[position - level_];
}

// The symbols to expect at a position of `key`, of which what comes before that counts.
const SymbolSet& KeyRuler::SetAt(SymbolsView key, size_t position) const {
  static const SymbolSet slash(U'/', U'/');
  if (position < begin_.size() || below_ == Below::kUnknown) return Cached(position);
  if (position == begin_.size()) return slash;
  const NamePosition at = NamePositionAt(key, position);
  return alphabet_.At(KeyAlphabet::Kind::kDirectory, at.level, at.position);
}

double KeyRuler::Measure(SymbolsView key) const {
  double value = 0;
  double scale = 1;
  for (size_t i = level_; i < key.size() && scale > kLeastScale; ++i) {
    const SymbolSet& symbols = SetAt(key, i);
    if (symbols.size() == 0) break;
    scale /= static_cast<double>(symbols.size());
    value += static_cast<double>(symbols.Rank(key[i])) * scale;
    if (!symbols.Contains(key[i])) break;
  }
  return value;
}

std::optional<std::string> KeyRuler::PointAt(double pages) const {
  double value = last_ + pages * page_width_;
  if (value >= end_) return std::nullopt;
  Symbols point = begin_.substr(0, level_);
  double scale = 1;
  while (scale > kPointPrecision * page_width_ && scale > kLeastScale && point.size() < kMaxPointBytes) {
    const SymbolSet& symbols = SetAt(point, point.size());
    if (symbols.size() == 0) break;
    const auto size = static_cast<double>(symbols.size());
    value *= size;
    const size_t rank = std::min(static_cast<size_t>(std::max(value, 0.0)), symbols.size() - 1);
    point.push_back(symbols[rank]);
    value -= static_cast<double>(rank);
    scale /= size;
  }
  return ToBytes(point);
}

std::optional<std::string> KeyRuler::PointBeyond() const {
  if (!beyond_) return std::nullopt;
  // The last plain character that all measured keys share, made one greater.
  for (size_t size = level_; size > prefix_symbols_; --size) {
    const Symbol symbol = begin_[size - 1];
    if (symbol >= 0x7e) continue;
    Symbols point = begin_.substr(0, size);
    ++point.back();
    return ToBytes(point);
  }
  return std::nullopt;
}

std::optional<std::string> MakeSplitPoint(const std::string& point, absl::string_view after,
                                          const std::optional<std::string>& end) {
  absl::string_view rest = point;
  while (!rest.empty()) {
    absl::string_view next = rest;
    const Symbol symbol = NextSymbol(next);
    if (symbol == 0 || symbol >= kStrayByte) break;
    rest = next;
  }
  std::string valid = point.substr(0, point.size() - rest.size());
  if (valid.size() > kMaxPointBytes || valid <= after || (end && valid >= *end)) return std::nullopt;
  return valid;
}

std::string PrefixSuccessor(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

}  // namespace bucketvol
