#include "test/bucketd/fault.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "mounter/base/status_macros.h"
#include "test/bucketd/content.h"
#include "test/bucketd/units.h"

namespace bucketvol::bucketd {
namespace {

constexpr absl::string_view kWords[] = {"op", "key", "rate", "kind", "count", "qps"};

constexpr std::pair<absl::string_view, FaultKind> kKinds[] = {{"503", FaultKind::kUnavailable},
                                                              {"500", FaultKind::kInternalError},
                                                              {"403", FaultKind::kDenied},
                                                              {"bandwidth", FaultKind::kBandwidth},
                                                              {"too-many-open", FaultKind::kTooManyOpen},
                                                              {"expired-token", FaultKind::kExpiredToken},
                                                              {"skewed", FaultKind::kSkewed},
                                                              {"html", FaultKind::kHtml},
                                                              {"reset", FaultKind::kReset},
                                                              {"truncate", FaultKind::kTruncate},
                                                              {"stall", FaultKind::kStall},
                                                              {"slow", FaultKind::kSlow},
                                                              {"wrong-bytes", FaultKind::kWrongBytes},
                                                              {"wrong-etag", FaultKind::kWrongEtag},
                                                              {"wrong-length", FaultKind::kWrongLength},
                                                              {"empty-truncated", FaultKind::kEmptyTruncated},
                                                              {"repeat-page", FaultKind::kRepeatPage},
                                                              {"out-of-order", FaultKind::kOutOfOrder},
                                                              {"bad-xml", FaultKind::kBadXml},
                                                              {"cut-xml", FaultKind::kCutXml}};

bool IsListOnly(FaultKind kind) {
  return kind == FaultKind::kEmptyTruncated || kind == FaultKind::kRepeatPage ||
         kind == FaultKind::kOutOfOrder || kind == FaultKind::kBadXml || kind == FaultKind::kCutXml;
}

// The next comma that is followed by a known word and '='.
size_t FieldEnd(absl::string_view spec) {
  for (size_t comma = spec.find(','); comma != absl::string_view::npos; comma = spec.find(',', comma + 1)) {
    const absl::string_view rest = spec.substr(comma + 1);
    const absl::string_view word = rest.substr(0, rest.find('='));
    if (word.size() < rest.size() &&
        std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords)) {
      return comma;
    }
  }
  return spec.size();
}

}  // namespace

absl::StatusOr<std::unique_ptr<FaultRule>> FaultRule::Parse(absl::string_view spec) {
  std::unique_ptr<FaultRule> rule(new FaultRule());
  for (absl::string_view rest = spec; !rest.empty();) {
    const size_t end = FieldEnd(rest);
    const std::pair<absl::string_view, absl::string_view> field =
        absl::StrSplit(rest.substr(0, end), absl::MaxSplits('=', 1));
    RETURN_IF_ERROR(Annotate(rule->ParseField(field.first, field.second), "fault"));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  RETURN_IF_ERROR(Annotate(rule->Check(), "fault"));
  return rule;
}

FaultRule::~FaultRule() {
  if (regex_.has_value()) regfree(&*regex_);
}

absl::Status FaultRule::ParseField(absl::string_view word, absl::string_view value) {
  if (word == "op") return ParseOperation(value);
  if (word == "key") return ParseRegex(value);
  if (word == "rate") return ParseRateField(value);
  if (word == "kind") return ParseKind(value);
  if (word != "count" && word != "qps") {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown word (op, key, rate, kind, count or qps): ", word));
  }
  ASSIGN_OR_RETURN((word == "count" ? count_ : qps_), ParseCount(value));
  return absl::OkStatus();
}

absl::Status FaultRule::ParseOperation(absl::string_view value) {
  if (value == "any" || value == "*") return absl::OkStatus();
  for (int i = 0; i < kOperationClasses; ++i) {
    if (NameOf(static_cast<OperationClass>(i)) == value) operation_class_ = static_cast<OperationClass>(i);
  }
  if (operation_class_.has_value()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("unknown op (GET, HEAD, LIST, PUT, DELETE, POST, OTHER or any): ", value));
}

absl::Status FaultRule::ParseRegex(absl::string_view value) {
  regex_t compiled;
  const int error = regcomp(&compiled, std::string(value).c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    char text[128];
    regerror(error, &compiled, text, sizeof(text));
    return absl::InvalidArgumentError(absl::StrCat("bad regular expression: ", text, ": ", value));
  }
  if (regex_.has_value()) regfree(&*regex_);
  regex_ = compiled;
  return absl::OkStatus();
}

absl::Status FaultRule::ParseRateField(absl::string_view value) {
  if (absl::SimpleAtod(value, &rate_) && rate_ >= 0 && rate_ <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("rate is not between 0 and 1: ", value));
}

absl::Status FaultRule::ParseKind(absl::string_view value) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(value, absl::MaxSplits(':', 1));
  for (const auto& [name, kind] : kKinds) {
    if (parts.first == name) fault_.kind = kind;
  }
  if (fault_.kind != FaultKind::kNone) return ParseKindArgument(parts.second);
  std::string known;
  for (const auto& [name, kind] : kKinds) absl::StrAppend(&known, known.empty() ? "" : " ", name);
  return absl::InvalidArgumentError(absl::StrCat("unknown kind (", known, "): ", value));
}

absl::Status FaultRule::ParseKindArgument(absl::string_view argument) {
  if (argument.empty()) return absl::OkStatus();
  if (fault_.kind == FaultKind::kStall) {
    ASSIGN_OR_RETURN(fault_.stall, ParseDelay(argument));
    return absl::OkStatus();
  }
  if (fault_.kind == FaultKind::kSlow) {
    ASSIGN_OR_RETURN(fault_.rate, ParseRate(argument));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("only stall and slow take an argument: ", argument));
}

absl::Status FaultRule::Check() const {
  if (fault_.kind == FaultKind::kNone && qps_ == 0)
    return absl::InvalidArgumentError("neither kind= nor qps= given");
  if (IsListOnly(fault_.kind) && operation_class_ != OperationClass::kList) {
    return absl::InvalidArgumentError("this kind is for op=LIST only");
  }
  return absl::OkStatus();
}

bool FaultRule::MatchesKey(absl::string_view key) const {
  if (!regex_.has_value()) return true;
  regmatch_t bounds = {0, static_cast<regoff_t>(key.size())};
  return regexec(&*regex_, key.data() == nullptr ? "" : key.data(), 1, &bounds, REG_STARTEND) == 0;
}

bool FaultRule::ExceedsQps(absl::Duration now) {
  const int64_t second = absl::ToInt64Seconds(now);
  absl::MutexLock lock(&mu_);
  if (second != second_) second_ = second, in_second_ = 0;
  return ++in_second_ > qps_;
}

bool FaultRule::TakeCount(uint64_t& occurrence) {
  occurrence = struck_.load(std::memory_order_relaxed);
  do {
    if (occurrence >= count_) return false;
  } while (!struck_.compare_exchange_weak(occurrence, occurrence + 1, std::memory_order_relaxed));
  return true;
}

Fault FaultRule::Decide(OperationClass operation_class, absl::string_view key, absl::Duration now,
                        uint64_t seed) {
  if (operation_class_.value_or(operation_class) != operation_class || !MatchesKey(key)) return {};
  Fault fault = fault_;
  if (qps_ != 0) {
    if (!ExceedsQps(now)) return {};
    if (fault.kind == FaultKind::kNone) fault.kind = FaultKind::kTooMany;
  }
  const uint64_t number = matched_.fetch_add(1, std::memory_order_relaxed);
  const double chance = static_cast<double>(MixBits(seed + number * 0x9e3779b97f4a7c15u) >> 11) * 0x1p-53;
  if (chance >= rate_ || !TakeCount(fault.occurrence)) return {};
  return fault;
}

Fault DecideFault(const std::vector<std::shared_ptr<FaultRule>>& rules, OperationClass operation_class,
                  absl::string_view key, absl::Duration now, uint64_t seed) {
  for (size_t i = 0; i < rules.size(); ++i) {
    const Fault fault = rules[i]->Decide(operation_class, key, now, MixBits(seed + i));
    if (fault.kind != FaultKind::kNone) return fault;
  }
  return {};
}

}  // namespace bucketvol::bucketd
