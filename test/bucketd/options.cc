#include "test/bucketd/options.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "mounter/base/status_macros.h"
#include "test/bucketd/units.h"

namespace bucketvol::bucketd {
namespace {

constexpr absl::string_view kHelp =
    R"(bucketd: an object store for demos, tests and benchmarks; speaks Alibaba OSS and Amazon S3 on one port

  bucketd --listen ADDRESS:PORT [--root DIR] [--synthetic SPEC]... [flags]
  bucketd expect SPEC KEY [OFFSET LENGTH]    write the bytes that a synthetic object must have
  bucketd keys SPEC [START [N]]              print N keys of a synthetic bucket from number START on

Where and what
  --listen 127.0.0.1:0      address and port; port 0 takes a free one and prints it
  --root DIR                each sub-directory is a bucket, files are objects; writable, survives a restart
  --synthetic SPEC          a bucket that exists only as a formula (repeatable):
                            NAME:keys=10000000,per-dir=1000,size=100KB,name-bytes=40,shape=even|flat|skewed|deep,seed=1
                            also size=20KB..200KB, and crc=on for x-oss-hash-crc64ecma
  --threads N               threads that serve (default: one per processor, at most 8)
  --tls-cert F --tls-key F  serve HTTPS (PEM files)

Who may (without keys, anyone)
  --access-key K --secret-key S [--session-token T]   verify every signature: OSS V1, OSS V4, SigV4; header and presigned
  --region R                refuse signatures for another region (default: any)
  --dialect auto|oss|s3     force the dialect (default: each request tells)

How slow
  --profile zero|oss|s3|express|tail     first byte, per-connection cap and list page at once; the flags below override
  --first-byte 35ms  --per-connection 50MB/s  --list-page 100ms  --total 400MB/s (over all connections; 0: none)

How broken
  --fault 'op=GET,key=REGEX,rate=0.01,count=N,qps=N,kind=KIND' (repeatable; the first rule that strikes decides)
        KIND: 503 500 403 expired-token skewed html reset truncate stall:5s slow[:100KB/s] wrong-bytes wrong-etag wrong-length;
        for op=LIST also empty-truncated repeat-page out-of-order bad-xml cut-xml; qps=N answers 503 above N a second
  --clock-offset 20m        the server's clock goes wrong by so much (Date header, skew check)
  --seed N                  makes chances repeatable

While it runs: GET /-/stats, POST /-/reset, GET /-/log?n=N, POST /-/config (lines of flag=value; fault=none takes all away)
)";

absl::Status ParseListen(absl::string_view value, Options& options) {
  const size_t colon = value.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || colon == 0 || !absl::SimpleAtoi(value.substr(colon + 1), &port) ||
      port > 65535) {
    return absl::InvalidArgumentError(absl::StrCat("--listen: not ADDRESS:PORT: ", value));
  }
  absl::string_view host = value.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  options.host = std::string(host);
  options.port = static_cast<uint16_t>(port);
  return absl::OkStatus();
}

absl::Status ParseThreads(absl::string_view value, Options& options) {
  if (absl::SimpleAtoi(value, &options.threads) && options.threads >= 1 && options.threads <= 256) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("--threads: not between 1 and 256: ", value));
}

absl::Status ApplyFlag(absl::string_view flag, absl::string_view value, Options& options) {
  if (flag == "listen") return ParseListen(value, options);
  if (flag == "threads") return ParseThreads(value, options);
  if (flag == "root") {
    options.root = std::string(value);
  } else if (flag == "tls-cert") {
    options.tls_certificate = std::string(value);
  } else if (flag == "tls-key") {
    options.tls_key = std::string(value);
  } else if (flag == "synthetic") {
    absl::StatusOr<SyntheticSpec> spec = ParseSyntheticSpec(value);
    if (!spec.ok()) return Annotate(spec.status(), "--synthetic");
    options.synthetic.push_back(*std::move(spec));
  } else {
    return ApplySetting(flag, value, options.settings);
  }
  return absl::OkStatus();
}

absl::Status CheckTogether(const Options& options) {
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return absl::InvalidArgumentError("--tls-cert and --tls-key are given together or not at all");
  }
  const Credentials& credentials = options.settings.credentials;
  if (credentials.access_key.empty() != credentials.secret_key.empty()) {
    return absl::InvalidArgumentError("--access-key and --secret-key are given together or not at all");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Options> ParseOptions(absl::Span<char* const> arguments) {
  Options options;
  // A profile comes first whatever its place, so that the single flags override it.
  for (const bool profile_turn : {true, false}) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      absl::string_view flag = arguments[i];
      if (flag == "--help" || flag == "-h") {
        options.help = true;
        continue;
      }
      if (!absl::ConsumePrefix(&flag, "--")) {
        return absl::InvalidArgumentError(absl::StrCat("not a flag (see bucketd --help): ", flag));
      }
      const size_t equals = flag.find('=');
      if (equals == absl::string_view::npos && i + 1 == arguments.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", flag, ": a value must follow (see bucketd --help)"));
      }
      const absl::string_view value =
          equals == absl::string_view::npos ? arguments[++i] : flag.substr(equals + 1);
      flag = flag.substr(0, equals);
      if ((flag == "profile") != profile_turn) continue;
      const absl::Status status = ApplyFlag(flag, value, options);
      if (absl::IsNotFound(status)) {
        return absl::InvalidArgumentError(absl::StrCat("unknown flag (see bucketd --help): --", flag));
      }
      RETURN_IF_ERROR(status);
    }
  }
  RETURN_IF_ERROR(CheckTogether(options));
  return options;
}

absl::string_view HelpText() { return kHelp; }

}  // namespace bucketvol::bucketd
