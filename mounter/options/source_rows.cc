#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "mounter/options/option_rows.h"
#include "mounter/options/source.h"

namespace bucketvol {
namespace {

bool IsRegionName(absl::string_view text) {
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == absl::string_view::npos;
}

/// "none" or http://host[:port] without a user name.
bool IsProxy(absl::string_view text) {
  if (text == "none") return true;
  if (text.find_first_of("@?# \t\r\n") != absl::string_view::npos) return false;
  if (!absl::ConsumePrefix(&text, "http://") && !absl::ConsumePrefix(&text, "https://")) return false;
  absl::ConsumeSuffix(&text, "/");
  return !text.empty() && text.find('/') == absl::string_view::npos;
}

ValueType PrefixValue() {
  ValueType type;
  type.hint = "DIR";
  type.accepts = "a directory below the bucket's root, without \".\" or \"..\" segments and control bytes";
  type.set = [](absl::string_view text, VolumeOptions& options) {
    std::optional<std::string> prefix = ParsePrefix(text);
    if (!prefix.has_value()) return false;
    options.source.prefix = *std::move(prefix);
    return true;
  };
  type.show = [](const VolumeOptions& options) { return absl::StrCat("/", options.source.prefix); };
  return type;
}

ValueType KindValue() {
  ValueType type = ChoiceValue<VolumeKind>(LetterCase::kAny,
                                           {{"image", VolumeKind::kImage},
                                            {"fuse", VolumeKind::kFuse},
                                            {"strmvol", VolumeKind::kImage, false},
                                            {"erofs", VolumeKind::kImage, false},
                                            {"ossfs", VolumeKind::kFuse, false},
                                            {"ossfs2", VolumeKind::kFuse, false}},
                                           &VolumeOptions::kind);
  type.accepts = "image (or strmvol, erofs) or fuse (or ossfs, ossfs2)";
  return type;
}

/// Some call the region by the name of its endpoint: oss-cn-hangzhou.
ValueType RegionValue() {
  ValueType type = CheckedTextValue("REGION", "lower-case letters, digits and hyphens, e.g. cn-hangzhou",
                                    &VolumeOptions::region, IsRegionName);
  type.set = [set = type.set](absl::string_view text, VolumeOptions& options) {
    absl::ConsumePrefix(&text, "oss-");
    return set(text, options);
  };
  return type;
}

ValueType PathStyleValue() {
  ValueType type;
  type.shape = ValueType::Shape::kFlag;
  type.accepts = "true or false";
  type.set = [](absl::string_view text, VolumeOptions& options) {
    const std::optional<bool> on = ParseBool(text);
    if (on.has_value()) options.addressing = *on ? AddressingStyle::kPath : AddressingStyle::kAuto;
    return on.has_value();
  };
  return type;
}

Field<std::string> Bucket() {
  return [](VolumeOptions& options) -> std::string& { return options.source.bucket; };
}

Field<Provider> ProviderField() {
  return [](VolumeOptions& options) -> Provider& { return options.source.provider; };
}

void AppendEndpointRows(std::vector<OptionRow>& table) {
  constexpr auto kSection = OptionSection::kEndpoint;
  table.push_back({.name = "url",
                   .aliases = {"host"},
                   .section = kSection,
                   .help = "endpoint of the service; without a scheme https, or http for a name that ends in "
                           "-internal.aliyuncs.com",
                   .value = TextValue("ENDPOINT", &VolumeOptions::url),
                   .default_text = "Amazon's for s3:// with region=, else required",
                   .identity = true,
                   .seen = true,
                   .may_hold_secret = true});
  table.push_back({.name = "region",
                   .aliases = {"oss_region"},
                   .section = kSection,
                   .help = "region that requests are signed for",
                   .value = RegionValue(),
                   .default_text = "told by the url; us-east-1 for other S3 services"});
  table.push_back({.name = "sigVersion",
                   .section = kSection,
                   .help = "version of the request signature; v1 exists for OSS only",
                   .value = ChoiceValue<SignatureVersion>(LetterCase::kExact,
                                                          {{"v1", SignatureVersion::kOssV1},
                                                           {"v4", SignatureVersion::kOssV4},
                                                           {"s3v4", SignatureVersion::kSigV4, false}},
                                                          &VolumeOptions::signature),
                   .default_text = "v4 if the region is known, else v1"});
  table.push_back(
      {.name = "addressing",
       .section = kSection,
       .help = "where the bucket stands in a request: in the path or in the host name; auto is path for IP "
               "addresses, names without a dot and S3 services other than Amazon's and Alibaba's",
       .value = ChoiceValue<AddressingStyle>(LetterCase::kAny,
                                             {{"auto", AddressingStyle::kAuto},
                                              {"path", AddressingStyle::kPath},
                                              {"virtual", AddressingStyle::kVirtualHost}},
                                             &VolumeOptions::addressing)});
  table.push_back({.name = "use_path_request_style",
                   .aliases = {"path_style"},
                   .section = kSection,
                   .help = "the same as addressing=path",
                   .value = PathStyleValue(),
                   .setting = "addressing"});
  table.push_back({.name = "list_objects_v1",
                   .section = kSection,
                   .help = "list with the old ListObjects call, for services that do not know list-type=2",
                   .value = FlagValue(&VolumeOptions::list_objects_v1)});
  table.push_back({.name = "listobjectsv2",
                   .aliases = {"use_list_obj_v2"},
                   .section = kSection,
                   .help = "list with ListObjectsV2, which is the default",
                   .value = InvertedFlagValue(&VolumeOptions::list_objects_v1),
                   .setting = "list_objects_v1"});
}

void AppendConnectionRows(std::vector<OptionRow>& table) {
  constexpr auto kSection = OptionSection::kEndpoint;
  table.push_back({.name = "ca_file",
                   .section = kSection,
                   .help = "PEM file of further certificate authorities to trust",
                   .value = PathValue("FILE", &VolumeOptions::ca_file),
                   .use = OptionUse::kPermitted,
                   .default_text = "the system's"});
  table.push_back({.name = "no_check_certificate",
                   .section = kSection,
                   .help = "accept any certificate: whoever sits between can read and change everything",
                   .value = InvertedFlagValue(&VolumeOptions::check_certificate)});
  table.push_back(
      {.name = "proxy",
       .aliases = {"http_proxy"},
       .section = kSection,
       .help = "proxy for requests, or none; one that needs a password is given by the environment",
       .value = CheckedTextValue("URL|none", "http://HOST[:PORT] without user name and password, or none",
                                 &VolumeOptions::proxy, IsProxy),
       .use = OptionUse::kPermitted,
       .default_text = "https_proxy, http_proxy or all_proxy of the environment",
       .may_hold_secret = true});
  table.push_back({.name = "no_proxy",
                   .section = kSection,
                   .help = "hosts, domains and CIDR blocks that are reached directly, separated by commas",
                   .value = TextValue("LIST", &VolumeOptions::no_proxy),
                   .default_text = "no_proxy of the environment"});
}

}  // namespace

void AppendSourceRows(std::vector<OptionRow>& table) {
  constexpr auto kSection = OptionSection::kSource;
  table.push_back({.name = "bucket",
                   .aliases = {"oss_bucket"},
                   .section = kSection,
                   .help = "the bucket, where no SOURCE names it",
                   .value = CheckedTextValue("BUCKET", "1-63 letters, digits, \".\", \"-\" or \"_\"",
                                             Bucket(), IsBucketName),
                   .default_text = "that of SOURCE",
                   .identity = true,
                   .seen = true});
  table.push_back({.name = "path",
                   .aliases = {"oss_bucket_prefix"},
                   .section = kSection,
                   .help = "directory of the bucket that becomes the root of the mount",
                   .value = PrefixValue(),
                   .identity = true,
                   .seen = true});
  table.push_back({.name = "provider",
                   .section = kSection,
                   .help = "protocol that the service speaks",
                   .value = ChoiceValue<Provider>(
                       LetterCase::kAny, {{"oss", Provider::kOss}, {"s3", Provider::kS3}}, ProviderField()),
                   .default_text = "that of SOURCE, else oss",
                   .identity = true,
                   .seen = true});
  table.push_back(
      {.name = "fuseType",
       .section = kSection,
       .help = "kind of volume: image (or strmvol, erofs) is read-only and indexed at the mount, fuse (or "
               "ossfs, ossfs2) reads and writes",
       .value = KindValue(),
       .identity = true,
       .seen = true});
  AppendEndpointRows(table);
  AppendConnectionRows(table);
}

}  // namespace bucketvol
