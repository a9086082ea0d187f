#include "mounter/options/volume_spec.h"

#include "absl/strings/str_cat.h"
#include "mounter/base/log.h"
#include "mounter/base/status_macros.h"
#include "mounter/options/option_table.h"
#include "proto/volume_spec.pb.h"

namespace bucketvol {
namespace {

namespace wire = ::bucketvol::proto;

constexpr uint32_t kOldestReader = 1;

void WriteSettings(const VolumeOptions& options, wire::VolumeSpec& out) {
  const VolumeOptions defaults;
  for (const OptionRow& row : OptionTable()) {
    if (!row.is_setting()) continue;
    wire::Setting& setting = *out.add_settings();
    setting.set_name(row.name);
    setting.set_value(row.value.show(options));
    setting.set_is_default(setting.value() == row.value.show(defaults));
  }
}

void WriteCredentials(const SpecCredentials& from, wire::SpecCredentials& to) {
  to.set_access_key_id(from.access_key_id);
  to.set_access_key_secret(from.access_key_secret.Reveal());
  to.set_session_token(from.session_token.Reveal());
  to.set_file_format(from.file_format);
  to.set_file_path(from.file_path);
  to.set_file_selector(from.file_selector);
  to.set_origin(from.origin);
}

SpecCredentials ReadCredentials(const wire::SpecCredentials& from) {
  SpecCredentials to;
  to.access_key_id = from.access_key_id();
  to.access_key_secret = Secret(from.access_key_secret());
  to.session_token = Secret(from.session_token());
  to.file_format = from.file_format();
  to.file_path = from.file_path();
  to.file_selector = from.file_selector();
  to.origin = from.origin();
  return to;
}

absl::Status ReadSetting(const wire::Setting& setting, VolumeOptions& options) {
  const OptionRow* row = FindOption(setting.name());
  const bool known = row != nullptr && row->is_setting();
  if (known && row->value.set(setting.value(), options)) return absl::OkStatus();
  if (!known && setting.is_default()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(known ? "volume spec has a value this program does not accept: "
                         : "volume spec has an option this program does not know: ",
                   Printable(setting.name(), 64)));
}

absl::Status CheckVersion(const wire::VolumeSpec& spec) {
  if (spec.version() == 0) return absl::DataLossError("volume spec has no version");
  if (spec.oldest_reader() <= kVolumeSpecVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("volume spec needs a program that reads version ",
                                                    spec.oldest_reader(), "; this one reads ",
                                                    kVolumeSpecVersion));
}

}  // namespace

Secret SerializeVolumeSpec(const VolumeSpec& spec) {
  wire::VolumeSpec out;
  out.set_version(kVolumeSpecVersion);
  out.set_oldest_reader(kOldestReader);
  WriteSettings(spec.options, out);
  WriteCredentials(spec.credentials, *out.mutable_credentials());
  out.set_proxy_credentials(spec.proxy_credentials.Reveal());
  return Secret(out.SerializeAsString());
}

absl::StatusOr<VolumeSpec> ParseVolumeSpec(absl::string_view bytes) {
  wire::VolumeSpec in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::DataLossError("volume spec cannot be read");
  }
  RETURN_IF_ERROR(CheckVersion(in));
  VolumeSpec spec;
  for (const wire::Setting& setting : in.settings()) RETURN_IF_ERROR(ReadSetting(setting, spec.options));
  spec.credentials = ReadCredentials(in.credentials());
  spec.proxy_credentials = Secret(in.proxy_credentials());
  return spec;
}

}  // namespace bucketvol
