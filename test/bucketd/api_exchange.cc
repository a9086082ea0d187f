#include "test/bucketd/api_exchange.h"

#include "absl/strings/str_cat.h"
#include "test/bucketd/call.h"
#include "test/bucketd/delivery_faults.h"
#include "test/bucketd/error_reply.h"
#include "test/bucketd/handlers.h"
#include "test/bucketd/object_headers.h"
#include "test/bucketd/service.h"

namespace bucketvol::bucketd {
namespace {

constexpr absl::Duration kTailStall = absl::Seconds(5);

}  // namespace

ApiExchange::ApiExchange(Service& service, const HttpRequest& request, int worker)
    : service_(service), http_(request), worker_(worker) {
  service_.stats().Enter();
  Open(service_.settings().Get(worker));
}

ApiExchange::~ApiExchange() { service_.stats().Leave(); }

void ApiExchange::Open(const Settings& settings) {
  now_ = absl::ToUnixSeconds(service_.clock().WallNow() + settings.clock_offset);
  request_id_ = service_.NewRequestId();
  request_.http = &http_;
  request_.params = ParseQuery(http_.query);
  request_.dialect = settings.dialect.value_or(DetectDialect(http_, request_.params));
  Identify(settings);
  request_.operation = Classify(request_);
  Note();
  const OperationClass operation_class = ClassOf(request_.operation);
  const absl::string_view subject =
      operation_class == OperationClass::kList ? request_.Param("prefix") : request_.key();
  fault_ = DecideFault(settings.faults, operation_class, subject, service_.clock().Elapsed(), settings.seed);
  if (!refusal_.has_value()) refusal_ = CheckKey(request_);
  if (!refusal_.has_value()) PrepareBody();
}

// Which bucket and key are meant, and whether the client may.
void ApiExchange::Identify(const Settings& settings) {
  BucketStore& buckets = service_.buckets();
  std::vector<Address> addresses = ReadAddresses(
      http_, request_.params, [&buckets](absl::string_view name) { return buckets.Exists(name); });
  size_t chosen = 0;
  if (!settings.credentials.access_key.empty()) {
    Outcome<Authentication> authentication = Authenticate(request_, addresses, settings, now_);
    if (authentication.ok()) {
      chosen = authentication->address;
      authentication_ = *std::move(authentication);
    } else {
      refusal_ = std::move(authentication.error());
      service_.stats().CountAuthFailure(worker_);
    }
  }
  request_.address = std::move(addresses[chosen]);
}

void ApiExchange::PrepareBody() {
  const bool to_file = request_.operation == Operation::kPutObject ||
                       request_.operation == Operation::kUploadPart ||
                       request_.operation == Operation::kAppend;
  const Authentication* authentication = authentication_.has_value() ? &*authentication_ : nullptr;
  if (!to_file) return body_.Start(request_, authentication, std::nullopt);
  const std::shared_ptr<Bucket> bucket = service_.buckets().Find(request_.bucket());
  if (bucket == nullptr || bucket->writable() == nullptr) {
    refusal_ = bucket == nullptr
                   ? ServiceError{ErrorKind::kNoSuchBucket, "", {{"BucketName", request_.bucket()}}}
                   : ServiceError{ErrorKind::kAccessDenied, "A synthetic bucket is read-only.", {}};
    return;
  }
  absl::StatusOr<StagedFile> file = bucket->writable()->Stage();
  if (file.ok()) return body_.Start(request_, authentication, *std::move(file));
  refusal_ = ServiceError{ErrorKind::kInternal, std::string(file.status().message()), {}};
}

void ApiExchange::Note() {
  const OperationClass operation_class = ClassOf(request_.operation);
  service_.stats().CountRequest(worker_, operation_class);
  log_number_ = service_.log().Begin({NameOf(operation_class), http_.method, request_.bucket(),
                                      request_.key(), http_.Get("range"), http_.query});
}

void ApiExchange::OnBody(absl::string_view data) {
  service_.stats().CountIn(worker_, data.size());
  if (!refusal_.has_value()) body_.Append(data);
}

Reply ApiExchange::Finish() {
  const Settings& settings = service_.settings().Get(worker_);
  Outcome<Reply> answer = Answer(settings);
  Reply reply = answer.ok() ? *std::move(answer) : MakeErrorReply(answer.error(), request_, request_id_);
  Complete(reply, settings);
  return reply;
}

Outcome<Reply> ApiExchange::Answer(const Settings& settings) {
  if (const std::optional<ErrorKind> kind = ErrorOf(fault_.kind); kind.has_value()) return *kind;
  if (refusal_.has_value()) return *refusal_;
  Outcome<Nothing> body = body_.Finish(request_);
  if (!body.ok()) return body.error();
  Call call = {request_, service_.buckets(), now_, settings.region, body_, service_.uploads()};
  call.damage = DamageOf(fault_.kind);
  call.ignore_if_match = fault_.kind == FaultKind::kWrongEtag;
  Outcome<Reply> reply = HandlerOf(request_.operation)(call);
  if (reply.ok()) ApplyFault(fault_, request_, *reply);
  return reply;
}

void ApiExchange::Complete(Reply& reply, const Settings& settings) {
  if (http_.method == "HEAD") reply.head_only = true;
  absl::StrAppend(&reply.headers, "Server: bucketd\r\n", service_.DateHeader(now_, worker_));
  if (request_.dialect == Dialect::kOss) {
    absl::StrAppend(&reply.headers, "x-oss-request-id: ", request_id_, "\r\nx-oss-server-time: 1\r\n");
  } else {
    absl::StrAppend(&reply.headers, "x-amz-request-id: ", request_id_, "\r\nx-amz-id-2: bucketd\r\n");
  }
  SetPace(reply, settings);
  status_ = reply.status;
}

void ApiExchange::SetPace(Reply& reply, const Settings& settings) {
  const Profile& profile = settings.profile;
  const bool list = ClassOf(request_.operation) == OperationClass::kList;
  Delivery& delivery = reply.delivery;
  delivery.first_byte = list ? profile.list_page : profile.first_byte;
  if (delivery.rate == 0) delivery.rate = profile.per_connection;
  if (!profile.tail) return;
  const uint64_t chance = service_.NextChance(settings.seed) % 1000;
  if (chance < 10) delivery.first_byte *= 10;
  if (chance == 999 && !list) delivery.first_byte += kTailStall;
}

void ApiExchange::OnSent(uint64_t body_bytes) {
  service_.stats().CountOut(worker_, body_bytes);
  service_.log().End(log_number_, status_, body_bytes);
}

}  // namespace bucketvol::bucketd
