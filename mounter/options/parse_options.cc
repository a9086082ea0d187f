#include "mounter/options/parse_options.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/options/finish_options.h"
#include "mounter/options/option_table.h"
#include "mounter/options/source.h"

namespace bucketvol {
namespace {

constexpr size_t kShownValue = 96;

bool FromVolume(OptionPlace place) { return place != OptionPlace::kCommandLine; }

absl::string_view PlaceNoun(OptionPlace place) {
  switch (place) {
    case OptionPlace::kCommandLine:
      return "option";
    case OptionPlace::kAttribute:
      return "volumeAttributes key";
    case OptionPlace::kOtherOpts:
      return "otherOpts word";
    case OptionPlace::kMountOptions:
      return "mountOptions word";
  }
  return "option";
}

/// `option "umask"`: how a message names a word.
std::string Quoted(const OptionWord& word) {
  return absl::StrCat(PlaceNoun(word.place), " \"", Printable(word.name, kShownValue), "\"");
}

absl::Status Refuse(const OptionWord& word, absl::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(Quoted(word), " ", reason));
}

/// Whether the row may be written at `place`; permission apart.
bool MayStandAt(const OptionRow& row, OptionPlace place) {
  switch (row.use) {
    case OptionUse::kAnywhere:
      return true;
    case OptionUse::kWords:
      return place != OptionPlace::kAttribute;
    case OptionUse::kPermitted:
    case OptionUse::kCommandLine:
      return !FromVolume(place);
    case OptionUse::kSecret:
      return false;
  }
  return false;
}

absl::Status RefuseSecret(const OptionWord& word) {
  return Refuse(
      word, FromVolume(word.place)
                ? "is a secret and must not stand in the volume: put it into a Secret and name that in "
                  "nodeStageSecretRef or nodePublishSecretRef"
                : "is a secret and must not stand in a command line, which every user can read: put it into "
                  "the environment (OSS_ACCESS_KEY_ID, OSS_ACCESS_KEY_SECRET), ~/.aws/credentials, or a "
                  "file named by passwd_file=");
}

absl::Status RefusePlace(const OptionRow& row, const OptionWord& word) {
  switch (row.use) {
    case OptionUse::kSecret:
      return RefuseSecret(word);
    case OptionUse::kWords:
      return Refuse(word, "is a mount option; write it into mountOptions or otherOpts");
    case OptionUse::kPermitted:
      return Refuse(word, absl::StrCat("names a file or host of the node, which a volume may not choose; the "
                                       "administrator can permit it with --allow-option ",
                                       row.name));
    case OptionUse::kCommandLine:
    case OptionUse::kAnywhere:
      break;
  }
  return Refuse(word, "is set for the whole node by the node plugin's flags");
}

absl::Status RefuseUnknown(const OptionWord& word) {
  std::vector<std::string> names;
  for (const OptionRow& row : OptionTable()) {
    if (!MayStandAt(row, word.place)) continue;
    names.push_back(row.name);
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
  }
  const std::string nearest = NearestWord(word.name, names);
  return absl::InvalidArgumentError(absl::StrCat("unknown ", Quoted(word),
                                                 nearest.empty()
                                                     ? "; `bucketvol help options` lists all"
                                                     : absl::StrCat("; did you mean ", nearest, "?")));
}

/// Reads words one by one into options.
class OptionParser {
 public:
  explicit OptionParser(const OptionContext& context) : context_(context) {
    options_.kind = context.default_kind;
  }

  void TakeSource(const Source& source);
  absl::Status Take(OptionWord word);
  absl::StatusOr<VolumeOptions> Finish(bool from_volume) &&;

 private:
  struct Giver {
    const OptionRow* row;
    OptionWord word;
    std::string shown;
  };

  bool Permitted(const OptionRow& row) const;
  absl::StatusOr<std::string> ValueOf(const OptionRow& row, const OptionWord& word) const;
  absl::StatusOr<std::string> AbsolutePath(const OptionWord& word, const std::string& path) const;
  absl::Status CheckGivenTwice(const Giver& before, const Giver& now);
  absl::Status CheckMissing(bool from_volume) const;
  void WarnOfOtherKind();

  const OptionContext& context_;
  VolumeOptions options_;
  std::map<std::string, Giver> given_;  // By the name of the setting.
};

void OptionParser::TakeSource(const Source& source) {
  options_.source = source;
  for (const char* name : {"provider", "bucket", "path"}) {
    const OptionRow* row = FindOption(name);
    if (row->name == "path" && source.prefix.empty()) continue;  // path= may add one.
    given_[row->name] = {row, OptionWord{.name = "SOURCE"}, row->value.show(options_)};
  }
}

bool OptionParser::Permitted(const OptionRow& row) const {
  if (row.use != OptionUse::kPermitted) return false;
  return std::any_of(context_.permitted.begin(), context_.permitted.end(),
                     [&](const std::string& name) { return FindOption(name) == &row; });
}

absl::StatusOr<std::string> OptionParser::AbsolutePath(const OptionWord& word,
                                                       const std::string& path) const {
  absl::string_view rest = path;
  if (absl::StartsWith(path, "/")) return path;
  if (FromVolume(word.place)) return Refuse(word, "must be an absolute path");
  if (absl::ConsumePrefix(&rest, "~/") && !context_.home.empty())
    return absl::StrCat(context_.home, "/", rest);
  if (context_.working_directory.empty()) return Refuse(word, "must be an absolute path");
  return absl::StrCat(context_.working_directory, "/", path);
}

absl::StatusOr<std::string> OptionParser::ValueOf(const OptionRow& row, const OptionWord& word) const {
  using Shape = ValueType::Shape;
  const Shape shape = row.value.shape;
  if (shape == Shape::kIgnored) return std::string();
  if (!word.value.has_value() && shape == Shape::kFlag) return std::string("true");
  if (word.value.value_or("").empty() && shape != Shape::kFlag) {
    return Refuse(word, absl::StrCat("needs a value: ", row.name, "=", row.value.hint));
  }
  return shape == Shape::kPath ? AbsolutePath(word, *word.value) : *word.value;
}

/// Attributes document true and false only; "yes" there is likelier a slip.
bool IsLooseAttributeFlag(const OptionRow& row, const OptionWord& word, absl::string_view value) {
  return row.value.shape == ValueType::Shape::kFlag && word.place == OptionPlace::kAttribute &&
         !absl::EqualsIgnoreCase(value, "true") && !absl::EqualsIgnoreCase(value, "false");
}

absl::Status RefuseValue(const OptionRow& row, const OptionWord& word, absl::string_view value) {
  const std::string shown =
      row.may_hold_secret ? "" : absl::StrCat(": \"", Printable(value, kShownValue), "\"");
  return Refuse(word, absl::StrCat("has a value that is not accepted; expected ", row.value.accepts, shown));
}

absl::Status OptionParser::CheckGivenTwice(const Giver& before, const Giver& now) {
  const bool both_attributes =
      before.word.place == OptionPlace::kAttribute && now.word.place == OptionPlace::kAttribute;
  const bool same_row = before.row == now.row;
  if (both_attributes && same_row) {
    return Refuse(before.word, absl::StrCat("and \"", now.word.name, "\" are the same; leave one out"));
  }
  if (before.shown == now.shown) return absl::OkStatus();
  if (now.row->identity || !same_row) {
    if (Quoted(before.word) == Quoted(now.word)) {
      return Refuse(now.word, "is given twice with different values; leave one out");
    }
    const bool source = before.word.name == "SOURCE";
    return Refuse(now.word, source ? std::string("contradicts SOURCE; leave it out")
                                   : absl::StrCat("contradicts ", Quoted(before.word), "; leave one out"));
  }
  options_.warnings.push_back(absl::StrCat(Quoted(now.word), " is given twice; the last value counts: ",
                                           now.row->may_hold_secret ? "(not shown)" : now.shown));
  return absl::OkStatus();
}

absl::Status OptionParser::Take(OptionWord word) {
  word.name = std::string(absl::StripAsciiWhitespace(word.name));
  if (word.value.has_value()) word.value = std::string(absl::StripAsciiWhitespace(*word.value));
  if (word.name.empty()) {
    if (word.value.has_value()) return Refuse(word, "has no name before the \"=\"");
    options_.warnings.push_back(absl::StrCat("empty ", PlaceNoun(word.place), " between commas is ignored"));
    return absl::OkStatus();
  }
  if (word.place == OptionPlace::kAttribute && word.value.value_or("").empty()) return absl::OkStatus();
  const OptionRow* row = FindOption(word.name);
  if (row == nullptr) return RefuseUnknown(word);
  if (!MayStandAt(*row, word.place) && !Permitted(*row)) return RefusePlace(*row, word);
  if (row->name == "rw" && context_.mount_helper) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string value, ValueOf(*row, word));
  if (IsLooseAttributeFlag(*row, word, value) || !row->value.set(value, options_)) {
    return RefuseValue(*row, word, value);
  }
  if (row->value.shape == ValueType::Shape::kIgnored) return absl::OkStatus();
  const std::string& setting = row->setting_name();
  Giver now{row, std::move(word), FindOption(setting)->value.show(options_)};
  const auto before = given_.find(setting);
  if (before != given_.end()) RETURN_IF_ERROR(CheckGivenTwice(before->second, now));
  given_[setting] = std::move(now);
  return absl::OkStatus();
}

absl::Status OptionParser::CheckMissing(bool from_volume) const {
  std::vector<std::string> missing;
  if (options_.source.bucket.empty()) missing.push_back("bucket");
  const bool amazon = options_.source.provider == Provider::kS3 && !options_.region.empty();
  if (options_.url.empty() && !amazon) missing.push_back("url");
  if (missing.empty()) return absl::OkStatus();
  const bool s3 = options_.source.provider == Provider::kS3;
  return absl::InvalidArgumentError(absl::StrCat(
      "missing ", from_volume ? "volumeAttributes" : "option", ": ", absl::StrJoin(missing, ", "),
      missing.back() != "url" ? ""
      : s3                    ? " (the endpoint; for Amazon S3 region=REGION is enough)"
                              : " (the endpoint, e.g. url=oss-cn-hangzhou-internal.aliyuncs.com)"));
}

void OptionParser::WarnOfOtherKind() {
  const OptionKinds kind = options_.kind == VolumeKind::kImage ? OptionKinds::kImage : OptionKinds::kFuse;
  for (const auto& [setting, giver] : given_) {
    if (giver.row->kinds == OptionKinds::kBoth || giver.row->kinds == kind) continue;
    options_.warnings.push_back(absl::StrCat(Quoted(giver.word), " has no effect on ",
                                             kind == OptionKinds::kImage ? "an image" : "a fuse", " volume"));
  }
}

absl::StatusOr<VolumeOptions> OptionParser::Finish(bool from_volume) && {
  RETURN_IF_ERROR(CheckMissing(from_volume));
  WarnOfOtherKind();
  const auto given = [this](absl::string_view setting) { return given_.count(std::string(setting)) > 0; };
  RETURN_IF_ERROR(FinishOptions(given, options_));
  return std::move(options_);
}

}  // namespace

absl::StatusOr<VolumeOptions> ParseVolumeOptions(const std::optional<Source>& source,
                                                 absl::Span<const OptionWord> words,
                                                 const OptionContext& context) {
  OptionParser parser(context);
  if (source.has_value()) parser.TakeSource(*source);
  for (const OptionWord& word : words) RETURN_IF_ERROR(parser.Take(word));
  return std::move(parser).Finish(/*from_volume=*/!source.has_value());
}

std::string SourceOptionsKey(const VolumeOptions& options) {
  std::string key;
  for (const OptionRow& row : OptionTable()) {
    if (row.seen) absl::StrAppend(&key, row.name, "=", row.value.show(options), "\n");
  }
  return key;
}

std::map<std::string, std::string> ServingOptions(const VolumeOptions& options) {
  VolumeOptions plain = options;
  if (plain.transport == TransportKind::kAuto) plain.transport = TransportKind::kLoop;
  if (plain.index_fs == IndexFs::kAuto) plain.index_fs = IndexFs::kErofs;
  std::map<std::string, std::string> serving;
  for (const OptionRow& row : OptionTable()) {
    if (row.is_setting() && !row.seen && !row.identity && !row.own) serving[row.name] = row.value.show(plain);
  }
  return serving;
}

std::string DescribeOptions(const VolumeOptions& options) {
  std::vector<std::string> parts;
  const VolumeOptions defaults;
  for (const OptionRow& row : OptionTable()) {
    if (!row.is_setting()) continue;
    const std::string value = row.value.show(options);
    if (value != row.value.show(defaults)) parts.push_back(absl::StrCat(row.name, "=", value));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace bucketvol
