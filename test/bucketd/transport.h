#pragma once

#include <sys/uio.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "mounter/base/unique_fd.h"

struct ssl_st;
struct ssl_ctx_st;

namespace bucketvol::bucketd {

struct SslContextFree {
  void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, SslContextFree>;

/// Loads a certificate chain and its key (PEM). Errors name the file and the cause.
absl::StatusOr<TlsContext> LoadTlsContext(const std::string& certificate_file, const std::string& key_file);

/// The bytes of one connection, plain or TLS, over a non-blocking socket. One thread at a time.
class Transport {
 public:
  enum class Outcome { kDone, kBlocked, kEnd };  // kEnd: closed by the peer, or broken.
  struct Result {
    Outcome outcome;
    size_t bytes;
  };

  /// `tls` may be null; it is borrowed.
  Transport(UniqueFd fd, ssl_ctx_st* tls);
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  ~Transport();

  int fd() const { return fd_.get(); }
  Result Read(char* out, size_t size);
  /// Sends from the pieces in order. After kBlocked the same bytes must be offered again first (their place
  /// may change).
  Result Write(const iovec* pieces, int count);
  /// True when a short Read proves that the kernel holds no more bytes.
  bool short_read_means_empty() const { return ssl_ == nullptr; }

  /// Ends our direction; the peer may still send.
  void ShutDown();
  /// Makes closing send a reset instead of an orderly end.
  void ResetOnClose();

 private:
  Result WriteTls(const iovec& piece);
  Result TlsResult(int returned);

  UniqueFd fd_;
  ssl_st* ssl_ = nullptr;  // Owned.
};

}  // namespace bucketvol::bucketd
