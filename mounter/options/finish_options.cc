#include "mounter/options/finish_options.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/options/service_url.h"

namespace bucketvol {
namespace {

using Given = std::function<bool(absl::string_view)>;

absl::Status Refuse(const std::string& message) { return absl::InvalidArgumentError(message); }

/// Amazon's endpoints follow from the region.
std::string AmazonUrl(absl::string_view region) {
  return absl::StrCat("https://s3.", region, ".amazonaws.com", absl::StartsWith(region, "cn-") ? ".cn" : "");
}

void SetRegion(absl::string_view host, const Given& given, VolumeOptions& options) {
  const std::string told = RegionToldBy(host);
  if (given("region")) {
    if (told.empty() || told == options.region) return;
    options.warnings.push_back(
        absl::StrCat("region=", options.region, " does not match the url, which tells ", told));
    return;
  }
  options.region = told;
  if (told.empty() && options.source.provider == Provider::kS3) options.region = "us-east-1";
}

absl::Status SetSignature(const Given& given, VolumeOptions& options) {
  const bool asked = given("sigVersion");
  if (options.source.provider == Provider::kS3) {
    if (asked && options.signature == SignatureVersion::kOssV1) {
      return Refuse("sigVersion=v1 does not exist for S3; leave it out or use v4");
    }
    options.signature = SignatureVersion::kSigV4;
    return absl::OkStatus();
  }
  if (!asked)
    options.signature = options.region.empty() ? SignatureVersion::kOssV1 : SignatureVersion::kOssV4;
  if (options.signature == SignatureVersion::kSigV4) options.signature = SignatureVersion::kOssV4;
  if (options.signature == SignatureVersion::kOssV4 && options.region.empty()) {
    return Refuse(
        absl::StrCat("sigVersion=v4 needs a region, which the url does not tell; add region=, e.g. "
                     "region=cn-hangzhou: \"",
                     options.url, "\""));
  }
  return absl::OkStatus();
}

absl::Status CheckVirtualHost(const ServiceUrl& endpoint, const VolumeOptions& options) {
  const std::string& bucket = options.source.bucket;
  if (endpoint.ip_address) {
    return Refuse(absl::StrCat("addressing=virtual is impossible with an IP address; use addressing=path: \"",
                               options.url, "\""));
  }
  if (options.source.provider == Provider::kOss && bucket.find('.') != std::string::npos) {
    return Refuse(
        absl::StrCat("bucket names of OSS hold no dot; the endpoint belongs into url=: \"", bucket, "\""));
  }
  if (bucket != absl::AsciiStrToLower(bucket) || bucket.find('_') != std::string::npos) {
    return Refuse(
        absl::StrCat("bucket name cannot stand in a host name; add addressing=path: \"", bucket, "\""));
  }
  return absl::OkStatus();
}

absl::Status SetAddressing(const ServiceUrl& endpoint, VolumeOptions& options) {
  if (options.addressing == AddressingStyle::kAuto)
    options.addressing = DecideAddressing(endpoint, options.source);
  return options.addressing == AddressingStyle::kPath ? absl::OkStatus()
                                                      : CheckVirtualHost(endpoint, options);
}

absl::Status FinishEndpoint(const Given& given, VolumeOptions& options) {
  const bool amazon_default = options.url.empty();
  if (amazon_default) options.url = AmazonUrl(options.region);
  absl::StatusOr<ServiceUrl> endpoint = ParseServiceUrl(options.url, options.source);
  if (!endpoint.ok()) return endpoint.status();
  options.url = endpoint->ToUrl();
  SetRegion(endpoint->host, given, options);
  RETURN_IF_ERROR(SetSignature(given, options));
  return SetAddressing(*endpoint, options);
}

absl::Status CheckCredentialWords(const VolumeOptions& options) {
  const auto refuse = [](absl::string_view a, absl::string_view b) {
    return Refuse(absl::StrCat("options \"", a, "\" and \"", b, "\" contradict each other; leave one out"));
  };
  if (options.anonymous && !options.passwd_file.empty()) return refuse("anonymous", "passwd_file");
  if (options.anonymous && !options.profile.empty()) return refuse("anonymous", "profile");
  if (!options.passwd_file.empty() && !options.profile.empty()) return refuse("passwd_file", "profile");
  return absl::OkStatus();
}

absl::Status FinishImage(const Given& given, VolumeOptions& options) {
  if (given("ro") && !options.read_only) {
    return Refuse("option \"rw\": an image volume is read-only; leave it out, or use fuseType=fuse");
  }
  options.read_only = true;
  if (!options.allow_other) {
    options.warnings.push_back("allow_other=false has no effect: an image volume is open to all users");
    options.allow_other = true;
  }
  if (options.direct_mode && !options.prefetch_order.empty()) {
    options.warnings.push_back("prefetch_order has no effect with directMode: nothing is fetched ahead");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status FinishOptions(const Given& given, VolumeOptions& options) {
  RETURN_IF_ERROR(FinishEndpoint(given, options));
  RETURN_IF_ERROR(CheckCredentialWords(options));
  if (!options.check_certificate) {
    options.warnings.push_back("no_check_certificate: whoever sits between can read and change everything");
  }
  return options.kind == VolumeKind::kImage ? FinishImage(given, options) : absl::OkStatus();
}

}  // namespace bucketvol
