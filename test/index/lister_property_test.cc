// Random hostile key sets, listed with any page size and number of streams, answers in any order, with
// faults: what comes out is the sorted set.

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "test/index/lister_fixture.h"
#include "test/support/status_matchers.h"
#include "test/support/temp_dir.h"

namespace bucketvol::testing {
namespace {

using Random = std::mt19937_64;

template <typename Container>
const auto& Pick(Random& random, const Container& container) {
  return *std::next(std::begin(container), static_cast<ptrdiff_t>(random() % std::size(container)));
}

std::string RandomText(Random& random, const std::vector<std::string>& alphabet, size_t most) {
  std::string text;
  for (size_t i = 1 + random() % most; i > 0; --i) text += Pick(random, alphabet);
  return text;
}

const std::vector<std::string>& RandomAlphabet(Random& random) {
  static const std::vector<std::vector<std::string>> kAlphabets = {
      {"a", "b"},
      {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"},
      {"\x01", "\n", " ", "!", "/", "~", "\x7f"},
      {"a", "/", "//", ".", "..", "a/"},
      {"é", "中", "文", "\xf0\x9f\x98\x80", "z", "/"},
      {"\xff", "\xfe", "\x80", "a", "\xc3"},
      {"A", "a", "Z", "z", "%", "+", "&", "\\"},
      {"\xf4\x8f\xbf\xbf", "\xed\x9f\xbf", "\xee\x80\x80", "\xc2\x80"},
  };
  return Pick(random, kAlphabets);
}

std::string RandomStem(Random& random) {
  switch (random() % 6) {
    case 0:
      return std::string(900, 'x');
    case 1:
      return std::string(300, '/');
    case 2:
      return "data/train/";
    case 3:
      return "\xff\xff";
    default:
      return "";
  }
}

std::set<std::string> RandomKeys(Random& random) {
  std::set<std::string> keys;
  const std::string stem = RandomStem(random);
  const size_t groups = 1 + random() % 4;
  for (size_t group = 0; group < groups; ++group) {
    const std::vector<std::string>& alphabet = RandomAlphabet(random);
    const std::string common = stem + (random() % 2 == 0 ? RandomText(random, alphabet, 6) : "");
    for (size_t i = random() % 150; i > 0; --i) {
      const std::string key = common + RandomText(random, alphabet, 8);
      if (key.size() <= 1024) keys.insert(key);
    }
  }
  return keys;
}

// Spoils answers now and then, but no request more often than the lister bears, and none before it has seen a
// key: until then an error is final.
class Saboteur {
 public:
  Saboteur(uint64_t seed, int percent, std::string prefix, const ListerRig& rig)
      : random_(seed), percent_(percent), prefix_(std::move(prefix)), rig_(rig) {}

  absl::Status operator()(const ListRequest& request, ListPage& page) {
    if (static_cast<int>(random_() % 100) >= percent_ || !request.delimiter.empty()) return absl::OkStatus();
    if (rig_.lister->progress().keys == 0) return absl::OkStatus();
    int& times = times_[request.start_after + '\0' + request.continuation_token];
    if (++times > 2) return absl::OkStatus();
    switch (random_() % 6) {
      case 0:
        return absl::UnavailableError("reset");
      case 1:
        return absl::ResourceExhaustedError("slow down");
      case 2:
        return Empty(page);
      case 3:
        return Repeat(request, page);
      case 4:
        return Shuffle(page);
      default:
        return Stray(page);
    }
  }

 private:
  static absl::Status Empty(ListPage& page) {
    page.objects.clear();
    page.truncated = true;
    return absl::OkStatus();
  }
  absl::Status Repeat(const ListRequest& request, ListPage& page) {
    if (request.start_after.empty() || page.objects.empty()) return absl::DeadlineExceededError("too slow");
    page.objects.front().key = *repeated_.insert(request.start_after).first;
    return absl::OkStatus();
  }
  static absl::Status Shuffle(ListPage& page) {
    if (page.objects.size() < 2) return absl::DataLossError("cut off");
    std::swap(page.objects.front(), page.objects.back());
    return absl::OkStatus();
  }
  absl::Status Stray(ListPage& page) {
    if (prefix_.empty() || page.objects.empty()) return absl::UnavailableError("reset");
    page.objects.back().key = "\xff\xff\xff\xff\xff\xff\xff\xff\xff";
    return absl::OkStatus();
  }

  Random random_;
  const int percent_;
  const std::string prefix_;
  const ListerRig& rig_;
  std::map<std::string, int> times_;
  std::set<std::string> repeated_;  // Outlives the pages that view it.
};

std::string RandomPrefix(Random& random, const std::set<std::string>& keys) {
  if (keys.empty() || random() % 2 == 0) return "";
  const std::string& key = Pick(random, keys);
  const size_t slash = key.find('/', random() % key.size());
  return slash == std::string::npos ? "" : key.substr(0, slash + 1);
}

// Hints that are right, stale, of another bucket, or what an enemy would write.
std::string RandomHint(Random& random, const std::set<std::string>& keys) {
  switch (keys.empty() ? 5 : random() % 6) {
    case 0:
    case 1:
      return Pick(random, keys);
    case 2:
      return Pick(random, keys) + "!";
    case 3:
      return Pick(random, keys).substr(0, random() % 5);
    case 4:
      return std::string(random() % 2000, random() % 2 == 0 ? 'x' : '\xff');
    default:
      return RandomText(random, RandomAlphabet(random), 12) + std::string(random() % 2, '\0');
  }
}

void AddHints(Random& random, const std::set<std::string>& keys, ListerSettings& settings) {
  static constexpr uint64_t kDistances[] = {0, 1, 1000, 1'000'000, UINT64_MAX};
  static constexpr int kFirst[] = {-1, 0, 1, 128, INT_MAX};
  for (size_t i = random() % 40; i > 0; --i) settings.hints.push_back(RandomHint(random, keys));
  settings.keys_per_hint = Pick(random, kDistances);
  settings.first_streams = Pick(random, kFirst);
}

ListerSettings RandomSettings(Random& random, const std::set<std::string>& keys,
                              const std::string& directory) {
  static constexpr int kPageKeys[] = {1, 2, 3, 10, 999, 1000};
  static constexpr std::pair<int, int> kStreams[] = {{1, 1}, {1, 2}, {3, 3}, {16, 128}, {128, 128}};
  static constexpr uint64_t kMemory[] = {0, 300, 64 << 20};
  ListerSettings settings;
  settings.prefix = RandomPrefix(random, keys);
  settings.page_keys = Pick(random, kPageKeys);
  std::tie(settings.min_streams, settings.max_streams) = Pick(random, kStreams);
  settings.memory_bytes = Pick(random, kMemory);
  if (random() % 3 > 0) settings.spill_directory = directory;
  if (random() % 4 == 0) settings.spill_bytes = 0;
  if (random() % 2 == 0) AddHints(random, keys, settings);
  return settings;
}

std::vector<std::string> Expected(const std::set<std::string>& keys, const std::string& prefix) {
  std::vector<std::string> expected;
  std::copy_if(keys.begin(), keys.end(), std::back_inserter(expected),
               [&](const std::string& key) { return absl::StartsWith(key, prefix); });
  return expected;
}

TEST(ListerPropertyTest, GivesTheSortedSet) {
  constexpr uint64_t kSets = 1500;
  const char* const first = std::getenv("BUCKETVOL_FIRST_SEED");  // For more sets than those of every run.
  const uint64_t begin = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  const TempDir directory;
  for (uint64_t seed = begin; seed < begin + kSets; ++seed) {
    Random random(seed);
    const std::set<std::string> keys = RandomKeys(random);
    const ListerSettings settings = RandomSettings(random, keys, directory.path());
    static constexpr int kFaults[] = {0, 0, 5, 30};
    ListerRig rig(VirtualTime::Order::kRandom, seed);
    rig.Put({keys.begin(), keys.end()});
    rig.store.SetListFault(Saboteur(seed, Pick(random, kFaults), settings.prefix, rig));
    Random delays(seed);
    rig.store.SetLatency([&](const FakeRequest&) { return absl::Milliseconds(delays() % 50); });
    SCOPED_TRACE(absl::StrCat("seed ", seed, ", ", keys.size(), " keys, prefix \"",
                              Printable(settings.prefix), "\", page ", settings.page_keys, ", streams ",
                              settings.max_streams));
    ASSERT_OK(rig.Run(settings));
    ASSERT_EQ(rig.sink.keys, Expected(keys, settings.prefix));
    ASSERT_EQ(rig.sink.wrong_metadata, 0u);
    ASSERT_EQ(rig.lister->progress().keys, rig.sink.keys.size());
    ASSERT_LE(rig.lister->progress().streams_peak, static_cast<uint32_t>(settings.max_streams));
    for (const FakeRequest& request : rig.store.Requests())
      ASSERT_LT(request.list.start_after.size(), 1024u + 1);
  }
}

}  // namespace
}  // namespace bucketvol::testing
