#include "test/bucketd/transport.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include "absl/strings/str_cat.h"

namespace bucketvol::bucketd {
namespace {

absl::Status TlsError(absl::string_view what, const std::string& file) {
  char text[256];
  ERR_error_string_n(ERR_get_error(), text, sizeof(text));
  return absl::InvalidArgumentError(absl::StrCat(what, ": ", text, ": ", file));
}

}  // namespace

void SslContextFree::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

absl::StatusOr<TlsContext> LoadTlsContext(const std::string& certificate_file, const std::string& key_file) {
  TlsContext context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (SSL_CTX_use_certificate_chain_file(context.get(), certificate_file.c_str()) != 1) {
    return TlsError("cannot use the TLS certificate", certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context.get()) != 1) {
    return TlsError("cannot use the TLS key", key_file);
  }
  return context;
}

Transport::Transport(UniqueFd fd, ssl_ctx_st* tls) : fd_(std::move(fd)) {
  if (tls == nullptr) return;
  ssl_ = SSL_new(tls);
  SSL_set_fd(ssl_, fd_.get());
  SSL_set_accept_state(ssl_);
}

Transport::~Transport() { SSL_free(ssl_); }

Transport::Result Transport::TlsResult(int returned) {
  if (returned > 0) return {Outcome::kDone, static_cast<size_t>(returned)};
  const int error = SSL_get_error(ssl_, returned);
  const bool blocked = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
  return {blocked ? Outcome::kBlocked : Outcome::kEnd, 0};
}

Transport::Result Transport::Read(char* out, size_t size) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    return TlsResult(SSL_read(ssl_, out, static_cast<int>(size)));
  }
  ssize_t got;
  do {
    got = recv(fd_.get(), out, size, 0);
  } while (got < 0 && errno == EINTR);
  if (got > 0) return {Outcome::kDone, static_cast<size_t>(got)};
  return {got < 0 && errno == EAGAIN ? Outcome::kBlocked : Outcome::kEnd, 0};
}

Transport::Result Transport::WriteTls(const iovec& piece) {
  ERR_clear_error();
  return TlsResult(SSL_write(ssl_, piece.iov_base, static_cast<int>(piece.iov_len)));
}

Transport::Result Transport::Write(const iovec* pieces, int count) {
  if (ssl_ != nullptr) return WriteTls(pieces[0]);
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = static_cast<size_t>(count);
  ssize_t sent;
  do {
    sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return {Outcome::kDone, static_cast<size_t>(sent)};
  return {errno == EAGAIN ? Outcome::kBlocked : Outcome::kEnd, 0};
}

void Transport::ShutDown() {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    SSL_shutdown(ssl_);
  }
  shutdown(fd_.get(), SHUT_WR);
}

void Transport::ResetOnClose() {
  const linger hard = {1, 0};
  setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
}

}  // namespace bucketvol::bucketd
