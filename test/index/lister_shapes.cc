#include "test/index/lister_shapes.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace bucketvol::testing {
namespace {

uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Appends `value` in the number system of `digits`, `width` digits long.
template <typename Digits>
void AppendNumber(std::string& out, uint64_t value, unsigned width, const Digits& digits) {
  uint64_t divisor = 1;
  for (unsigned i = 1; i < width; ++i) divisor *= std::size(digits);
  for (; divisor > 0; divisor /= std::size(digits)) out += digits[value / divisor % std::size(digits)];
}

constexpr char kDecimal[] = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9'};
constexpr char kHex[] = {'0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
constexpr char kOdd[] = {'\x01', '\t', ' ', '!', '%', '&', '+', '=', '?', '|', '\x7f'};
const char* const kHan[] = {"一", "七", "中", "九", "八", "力", "大", "山", "日", "水"};  // In byte order.

void AppendDecimal(std::string& out, uint64_t value, unsigned width) {
  AppendNumber(out, value, width, kDecimal);
}

void AppendName(std::string& out, uint64_t number, uint64_t index) {
  out += "imagenet-tr_";
  AppendDecimal(out, number, 8);
  out += '_';
  AppendNumber(out, Mix(index) & 0xffffffff, 8, kHex);
  out += ".jpg";
}

void AppendEven(std::string& out, uint64_t index, uint64_t per_dir, char first) {
  out += first;
  AppendDecimal(out, index / per_dir, 6);
  out += '/';
  AppendName(out, index % per_dir, index);
}

// A sequence made of one function.
class Formula final : public KeySequence {
 public:
  using Function = std::function<void(uint64_t index, std::string& out)>;
  Formula(uint64_t size, Function function) : size_(size), function_(std::move(function)) {}
  uint64_t size() const override { return size_; }
  void KeyAt(uint64_t index, std::string& out) const override {
    out.clear();
    function_(index, out);
  }

 private:
  uint64_t size_;
  Function function_;
};

Formula::Function Skewed(uint64_t keys) {
  const uint64_t rest = keys / 20;
  return [rest, keys](uint64_t index, std::string& out) {
    if (index < rest / 2) return AppendEven(out, index, 1000, 'c');
    if (index >= keys - rest / 2) return AppendEven(out, index - (keys - rest / 2), 1000, 'e');
    out += "data/";
    AppendName(out, index - rest / 2, index);
  };
}

// A tree of eight levels with as few children per directory as hold all directories; those of a directory
// come before its own names.
Formula::Function Deep(uint64_t keys) {
  constexpr unsigned kDepth = 8;
  const auto subtree = [](uint64_t fan_out, unsigned levels) {
    uint64_t count = 0;
    for (unsigned i = 0; i <= levels; ++i) count = count * fan_out + 1;
    return count;
  };
  uint64_t fan_out = 2;
  while (subtree(fan_out, kDepth) * 1000 < keys) ++fan_out;
  return [fan_out, subtree](uint64_t index, std::string& out) {
    uint64_t rank = index / 1000;
    for (unsigned depth = 0; depth < kDepth; ++depth) {
      const uint64_t below = subtree(fan_out, kDepth - depth - 1);
      const uint64_t child = rank / below;
      if (child == fan_out) break;
      rank -= child * below;
      absl::StrAppend(&out, "d", child, "/");
    }
    AppendName(out, index % 1000, index);
  };
}

Formula::Function Hashed(uint64_t keys) {
  const uint64_t step = ~uint64_t{0} / keys;
  return [step](uint64_t index, std::string& out) {
    AppendNumber(out, index * step + Mix(index) % step, 16, kHex);
    AppendNumber(out, Mix(index + 1), 16, kHex);
  };
}

// Directories named by syllables, sizes between 1 and some thousand names.
Formula::Function Words(uint64_t keys, std::string top) {
  static const char* const kSyllables[] = {"ab", "ble", "cor", "di", "en", "fa",  "ga", "ho", "in",
                                           "ka", "lu",  "mo",  "ni", "or", "pre", "su", "ti", "ux"};
  std::vector<std::pair<uint64_t, std::string>> begins;  // First key of each directory, its name.
  std::vector<std::string> names;
  for (uint64_t i = 0, count = keys / 700 + 1; i < 2 * count; ++i) {
    uint64_t random = Mix(i + 17);
    std::string name = top;
    for (uint64_t j = 0; j < 2 + i % 4; ++j, random = Mix(random))
      name += kSyllables[random % std::size(kSyllables)];
    names.push_back(name + "/");
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  uint64_t at = 0;
  for (size_t i = 0; i < names.size() && at < keys; ++i) {
    begins.emplace_back(at, names[i]);
    const uint64_t even = (keys - at) / (names.size() - i);
    at += 1 + Mix(i) % (2 * even + 1);
  }
  return [begins](uint64_t index, std::string& out) {
    const auto next = std::upper_bound(begins.begin(), begins.end(), index,
                                       [](uint64_t value, const auto& begin) { return value < begin.first; });
    const auto& [begin, name] = *std::prev(next);
    out += name;
    out += "image_";
    AppendDecimal(out, index - begin, 7);
    out += ".jpg";
  };
}

Formula::Function Dates(uint64_t keys) {
  const uint64_t per_hour = keys / (3 * 365 * 24) + 1;
  return [per_hour](uint64_t index, std::string& out) {
    const uint64_t hour = index / per_hour;
    const uint64_t day = hour / 24;
    absl::StrAppend(&out, "logs/", 2021 + day / 365, "/");
    AppendDecimal(out, day % 365 / 31 + 1, 2);
    out += '/';
    AppendDecimal(out, day % 365 % 31 + 1, 2);
    out += '/';
    AppendDecimal(out, hour % 24, 2);
    out += "/part-";
    AppendDecimal(out, index % per_hour, 5);
    out += '-';
    AppendNumber(out, Mix(index), 12, kHex);
  };
}

Formula::Function FunctionOf(KeyShape shape, uint64_t keys) {
  switch (shape) {
    case KeyShape::kEven:
      return [](uint64_t i, std::string& out) { AppendEven(out, i, 1000, 'd'); };
    case KeyShape::kSmallDirs:
      return [](uint64_t i, std::string& out) { AppendEven(out, i, 10, 'd'); };
    case KeyShape::kFlat:
      return [](uint64_t i, std::string& out) { AppendName(out, i, i); };
    case KeyShape::kSkewed:
      return Skewed(keys);
    case KeyShape::kDeep:
      return Deep(keys);
    case KeyShape::kHashed:
      return Hashed(keys);
    case KeyShape::kLongCommon:
      return [](uint64_t i, std::string& out) {
        out.append(900, 'x');
        AppendDecimal(out, i, 12);
      };
    case KeyShape::kUtf8:
      return [](uint64_t i, std::string& out) {
        out += "图片/";
        AppendNumber(out, i, 9, kHan);
      };
    case KeyShape::kOddAlphabet:
      return [](uint64_t i, std::string& out) { AppendNumber(out, i, 9, kOdd); };
    case KeyShape::kWords:
      return Words(keys, "");
    case KeyShape::kManyTops:
      return Words(keys, "datasets/caltech/train/");
    case KeyShape::kDates:
      return Dates(keys);
  }
  return nullptr;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, KeyShape shape) {
  static const char* const kNames[] = {
      "even",        "flat", "skewed",       "deep",  "small directories", "hashed",
      "long common", "utf8", "odd alphabet", "words", "many tops",         "dates"};
  return out << kNames[static_cast<int>(shape)];
}

std::shared_ptr<const KeySequence> MakeShape(KeyShape shape, uint64_t keys) {
  return std::make_shared<Formula>(keys, FunctionOf(shape, keys));
}

}  // namespace bucketvol::testing
