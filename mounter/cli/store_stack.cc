#include "mounter/cli/store_stack.h"

#include <algorithm>
#include <string>
#include <utility>

#include "mounter/base/status_macros.h"
#include "mounter/cli/credential_spec.h"
#include "mounter/objstore/credentials_file.h"
#include "mounter/options/proxy.h"

namespace bucketvol {
namespace {

Signature SignatureOf(SignatureVersion version) {
  switch (version) {
    case SignatureVersion::kOssV1:
      return Signature::kOssV1;
    case SignatureVersion::kOssV4:
      return Signature::kOssV4;
    case SignatureVersion::kSigV4:
      return Signature::kAwsV4;
  }
  return Signature::kOssV4;
}

Addressing AddressingOf(AddressingStyle style) {
  switch (style) {
    case AddressingStyle::kAuto:
      return Addressing::kAuto;
    case AddressingStyle::kPath:
      return Addressing::kPath;
    case AddressingStyle::kVirtualHost:
      return Addressing::kVirtualHost;
  }
  return Addressing::kAuto;
}

}  // namespace

absl::StatusOr<StoreSettings> StoreSettingsOf(const VolumeSpec& spec, Acquaintance acquaintance) {
  const VolumeOptions& options = spec.options;
  StoreSettings settings;
  settings.url = options.url;
  settings.region = options.region;
  settings.bucket = options.source.bucket;
  settings.dialect = options.source.provider == Provider::kOss ? Dialect::kOss : Dialect::kS3;
  settings.signature = SignatureOf(options.signature);
  settings.addressing = AddressingOf(options.addressing);
  settings.list_version = options.list_objects_v1 ? ListVersion::kV1 : ListVersion::kV2;
  settings.transport.connect_timeout = options.connect_timeout;
  settings.transport.ca_file = options.ca_file;
  settings.transport.check_certificate = options.check_certificate;
  settings.transport.proxy.proxy = ProxyWithCredentials(options.proxy, spec.proxy_credentials).Reveal();
  if (options.resource_limit)
    settings.transport.threads = EventLoopsFor(options.resource_limit->milli_cpus / 1000.0);
  settings.transport.proxy.no_proxy = options.no_proxy;
  // A silent service is left soon enough for some more attempts.
  settings.transport.first_byte_timeout =
      std::min(settings.transport.first_byte_timeout, options.request_timeout / 4);
  settings.transport.stall_timeout = std::min(settings.transport.stall_timeout, options.request_timeout / 4);
  settings.request_rate = options.request_rate;
  if (acquaintance == Acquaintance::kProven) settings.retry.first_contact_attempts = 0;
  // A request's time is over with the reader's; what is left after the last attempt goes to the answer.
  settings.retry.budget = std::min(settings.retry.budget, options.request_timeout * 0.9);
  return settings;
}

absl::StatusOr<std::unique_ptr<StoreStack>> StoreStack::Make(const VolumeSpec& spec, const Clock& clock,
                                                             Acquaintance acquaintance) {
  ASSIGN_OR_RETURN(const CredentialSource source, ToCredentialSource(spec.credentials));
  ASSIGN_OR_RETURN(const StoreSettings settings, StoreSettingsOf(spec, acquaintance));
  std::unique_ptr<StoreStack> stack(new StoreStack(MakeCredentialProvider(source, clock), clock));
  ASSIGN_OR_RETURN(stack->store_, MakeObjectStore(settings, stack->credentials_, clock));
  return stack;
}

absl::Status StoreStack::ReplaceCredentials(const SpecCredentials& credentials) {
  ASSIGN_OR_RETURN(const CredentialSource source, ToCredentialSource(credentials));
  credentials_.Replace(MakeCredentialProvider(source, clock_));
  return absl::OkStatus();
}

StatusDocument::Store StoreStatus(const StoreMetrics& metrics) {
  StatusDocument::Store status;
  const std::pair<const char*, StoreOperation> operations[] = {
      {"GET", StoreOperation::kGet}, {"LIST", StoreOperation::kList},     {"HEAD", StoreOperation::kHead},
      {"PUT", StoreOperation::kPut}, {"DELETE", StoreOperation::kDelete}, {"POST", StoreOperation::kPost},
  };
  for (const auto& [name, operation] : operations) status.requests[name] = metrics.Requests(operation);
  status.bytes_in = metrics.bytes_in.load();
  status.bytes_out = metrics.bytes_out.load();
  status.retries = metrics.retries.load();
  status.throttled = metrics.throttled.load();
  status.errors = metrics.errors.load();
  status.in_flight = static_cast<uint64_t>(std::max<int64_t>(metrics.in_flight.load(), 0));
  status.hedged = metrics.hedged.load();
  status.stalled = metrics.stalled.load();
  return status;
}

}  // namespace bucketvol
