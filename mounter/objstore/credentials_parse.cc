#include "mounter/objstore/credentials_parse.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/objstore/credentials_ini.h"

namespace bucketvol {
namespace {

constexpr char kAllBuckets[] = "";

bool HasInnerSpaceOrControl(absl::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return absl::ascii_isspace(byte) || absl::ascii_iscntrl(byte);
  });
}

/// Reads a password file line by line.
class PasswdReader {
 public:
  explicit PasswdReader(absl::string_view path) : path_(path) {}

  absl::Status TakeLine(absl::string_view line, int number);
  absl::StatusOr<Credentials> For(absl::string_view bucket) const;

 private:
  struct Entry {
    int line;
    Credentials credentials;
  };

  absl::Status Refuse(int line, absl::string_view problem) const {
    return absl::InvalidArgumentError(absl::StrCat(path_, ":", line, ": ", problem));
  }
  absl::Status TakeEntry(absl::string_view line, int number);
  absl::Status TakeNamedValue(absl::string_view line, int number, bool& taken);

  const absl::string_view path_;
  std::map<std::string, Entry> entries_;  // By bucket.
  std::string named_id_, named_secret_;   // Of OSSAccessKeyId= and OSSSecretKey= lines.
};

absl::Status PasswdReader::TakeNamedValue(absl::string_view line, int number, bool& taken) {
  std::string* value = nullptr;
  for (const absl::string_view name : {"OSSAccessKeyId=", "AWSAccessKeyId="}) {
    if (absl::ConsumePrefix(&line, name)) value = &named_id_;
  }
  for (const absl::string_view name : {"OSSSecretKey=", "AWSSecretKey="}) {
    if (absl::ConsumePrefix(&line, name)) value = &named_secret_;
  }
  taken = value != nullptr;
  if (!taken) return absl::OkStatus();
  if (!value->empty()) return Refuse(number, "a key is given twice");
  *value = std::string(line);
  return absl::OkStatus();
}

absl::Status PasswdReader::TakeEntry(absl::string_view line, int number) {
  const std::vector<absl::string_view> parts = absl::StrSplit(line, ':');
  if (parts.size() != 2 && parts.size() != 3) return Refuse(number, "expected ID:SECRET or BUCKET:ID:SECRET");
  const std::string bucket(parts.size() == 3 ? parts[0] : kAllBuckets);
  if (parts.size() == 3 && bucket.empty()) return Refuse(number, "has no bucket before the first \":\"");
  const KeyPairNames names = {absl::StrCat(path_, ":", number, ":"), "an access key id", "a secret"};
  absl::StatusOr<Credentials> credentials = MakeCredentials(names, parts[parts.size() - 2], parts.back(), "");
  if (absl::IsNotFound(credentials.status())) return Refuse(number, "has no access key id and no secret");
  RETURN_IF_ERROR(credentials.status());
  const auto [entry, fresh] = entries_.try_emplace(bucket, Entry{number, *std::move(credentials)});
  if (fresh) return absl::OkStatus();
  const std::string whose =
      bucket.empty() ? "all buckets" : absl::StrCat("bucket \"", Printable(bucket, 64), "\"");
  return Refuse(number,
                absl::StrCat("second entry for ", whose, "; the first is in line ", entry->second.line));
}

absl::Status PasswdReader::TakeLine(absl::string_view line, int number) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty() || line[0] == '#') return absl::OkStatus();
  if (line[0] == '[') return Refuse(number, "begins with \"[\": this is no password file; see profile=");
  if (HasInnerSpaceOrControl(line)) return Refuse(number, "white space or a control byte within the entry");
  bool taken = false;
  RETURN_IF_ERROR(TakeNamedValue(line, number, taken));
  return taken ? absl::OkStatus() : TakeEntry(line, number);
}

absl::StatusOr<Credentials> PasswdReader::For(absl::string_view bucket) const {
  if (const auto own = entries_.find(std::string(bucket)); own != entries_.end())
    return own->second.credentials;
  if (const auto all = entries_.find(kAllBuckets); all != entries_.end()) return all->second.credentials;
  const KeyPairNames names = {std::string(path_), "OSSAccessKeyId", "OSSSecretKey"};
  absl::StatusOr<Credentials> named = MakeCredentials(names, named_id_, named_secret_, "");
  if (!absl::IsNotFound(named.status())) return named;
  return absl::NotFoundError(absl::StrCat(path_, " has no entry for bucket \"", Printable(bucket, 64),
                                          "\" and none for all buckets"));
}

/// A value of the section; empty if it is not there.
absl::string_view ValueOf(const IniSection& section, const std::string& key) {
  const auto found = section.find(key);
  return found == section.end() ? absl::string_view() : absl::string_view(found->second);
}

absl::Status NoProfile(absl::string_view profile, absl::string_view path) {
  return absl::NotFoundError(absl::StrCat(path, " has no profile \"", Printable(profile, 64), "\""));
}

absl::Status RefuseIndirection(const IniSection& section, absl::string_view where) {
  for (const char* key : {"role_arn", "source_profile", "credential_source", "credential_process",
                          "sso_session", "sso_start_url", "sso_account_id", "web_identity_token_file"}) {
    if (ValueOf(section, key).empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        where, " uses ", key,
        ", which is not supported; name a profile that holds aws_access_key_id and aws_secret_access_key"));
  }
  return absl::OkStatus();
}

/// The keys of an ossutil section without regard to case, "-" and "_".
IniSection Simplified(const IniSection& section) {
  IniSection simplified;
  for (const auto& [key, value] : section) {
    std::string name = key;
    name.erase(std::remove_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '_'; }),
               name.end());
    simplified[name] = value;
  }
  return simplified;
}

absl::StatusOr<Credentials> FromOssutilSection(const IniSection& section, absl::string_view name,
                                               absl::string_view path) {
  const IniSection keys = Simplified(section);
  const KeyPairNames names = {absl::StrCat("section [", Printable(name, 64), "] of ", path), "accessKeyID",
                              "accessKeySecret"};
  return MakeCredentials(names, ValueOf(keys, "accesskeyid"), ValueOf(keys, "accesskeysecret"),
                         ValueOf(keys, "ststoken"));
}

}  // namespace

absl::StatusOr<Credentials> MakeCredentials(const KeyPairNames& names, absl::string_view id,
                                            absl::string_view secret, absl::string_view token) {
  id = absl::StripAsciiWhitespace(id);
  secret = absl::StripAsciiWhitespace(secret);
  token = absl::StripAsciiWhitespace(token);
  const auto refuse = [&](absl::string_view problem, absl::string_view a, absl::string_view b) {
    return absl::InvalidArgumentError(
        absl::StrCat(names.where, " ", problem, a, b.empty() ? "" : " but not ", b));
  };
  if (id.empty() && secret.empty()) {
    return absl::NotFoundError(absl::StrCat(names.where, " has no ", names.id, " and no ", names.secret));
  }
  if (secret.empty()) return refuse("has ", names.id, names.secret);
  if (id.empty()) return refuse("has ", names.secret, names.id);
  if (HasInnerSpaceOrControl(id)) return refuse("has white space or a control byte within ", names.id, "");
  if (HasInnerSpaceOrControl(secret))
    return refuse("has white space or a control byte within ", names.secret, "");
  if (HasInnerSpaceOrControl(token))
    return refuse("has white space or a control byte within the session token", "", "");
  return Credentials{std::string(id), Secret(std::string(secret)), Secret(std::string(token))};
}

absl::StatusOr<Credentials> ParsePasswdFile(absl::string_view content, absl::string_view bucket,
                                            absl::string_view path) {
  PasswdReader reader(path);
  int number = 0;
  for (absl::string_view line : absl::StrSplit(content, '\n'))
    RETURN_IF_ERROR(reader.TakeLine(line, ++number));
  return reader.For(bucket);
}

absl::StatusOr<Credentials> ParseAwsCredentials(absl::string_view content, absl::string_view profile,
                                                absl::string_view path) {
  if (profile.empty()) profile = "default";
  ASSIGN_OR_RETURN(const IniFile file, ParseIni(content, path));
  const auto section = file.find(std::string(profile));
  if (section == file.end()) return NoProfile(profile, path);
  const std::string where = absl::StrCat("profile \"", Printable(profile, 64), "\" of ", path);
  RETURN_IF_ERROR(RefuseIndirection(section->second, where));
  const KeyPairNames names = {where, "aws_access_key_id", "aws_secret_access_key"};
  return MakeCredentials(names, ValueOf(section->second, names.id), ValueOf(section->second, names.secret),
                         ValueOf(section->second, "aws_session_token"));
}

absl::StatusOr<Credentials> ParseOssutilConfig(absl::string_view content, absl::string_view profile,
                                               absl::string_view path) {
  ASSIGN_OR_RETURN(const IniFile file, ParseIni(content, path));
  std::vector<std::string> candidates = {absl::StrCat("profile ", profile)};
  if (profile.empty() || profile == "default") candidates = {"default", "profile default", "Credentials"};
  absl::StatusOr<Credentials> last = NoProfile(profile.empty() ? "default" : profile, path);
  for (const std::string& name : candidates) {
    const auto section = file.find(name);
    if (section == file.end()) continue;
    last = FromOssutilSection(section->second, name, path);
    if (!absl::IsNotFound(last.status())) return last;
  }
  return last;
}

}  // namespace bucketvol
