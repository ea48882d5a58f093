#include "server/tls_context.h"

#include <ctime>
#include <string_view>

#include "server/openssl.h"

namespace aliquot::server {
namespace {

// As ALPN lists its protocols: a length before each.
constexpr std::string_view kProtocols = "\x08http/1.1";

int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned int offered_size, void*) {
  unsigned char* protocol = nullptr;
  const int outcome = SSL_select_next_proto(
      &protocol, chosen_size, reinterpret_cast<const unsigned char*>(kProtocols.data()),
      static_cast<unsigned int>(kProtocols.size()), offered, offered_size);
  *chosen = protocol;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

void Configure(SSL_CTX& context) {
  SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION);
  SSL_CTX_set_options(&context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
  // Kubernetes' clients keep connections, but resume no sessions.
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(&context, 0);
  // Buffers only while there are bytes in them, and a write that may go on from
  // another address, because the answer moves between threads.
  SSL_CTX_set_mode(&context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // One record per read: a peer that changes its keys without end would hold the thread.
  SSL_CTX_clear_mode(&context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_alpn_select_cb(&context, ChooseProtocol, nullptr);
}

bool AtEnd() { return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE; }

Error Refused(std::string_view what, const PemFile& file) {
  const bool none = AtEnd();
  const std::string reason = TakeOpenSslError();
  return InvalidError(std::string(what) + " " + file.path + ": " +
                      (none ? "there is none in it (PEM)" : reason));
}

Result<void> UseCertificates(SSL_CTX& context, const PemFile& file) {
  const Bio text = OpenText(file.text);
  const auto next = [&] {
    return Certificate(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  };
  const Certificate own = next();
  if (!own || SSL_CTX_use_certificate(&context, own.get()) != 1) {
    return Refused("certificate", file);
  }
  while (const Certificate issuer = next()) {
    if (SSL_CTX_add1_chain_cert(&context, issuer.get()) != 1) {
      return Refused("certificate chain", file);
    }
  }
  if (!AtEnd()) return Refused("certificate chain", file);
  ERR_clear_error();
  return {};
}

Result<void> UseKey(SSL_CTX& context, const PemFile& file, const PemFile& certificate) {
  const Key key = ReadKey(file.text);
  if (!key) {
    ERR_clear_error();
    return InvalidError("private key " + file.path +
                        ": there is none in it that can be read (PEM, without a pass phrase)");
  }
  if (X509_check_private_key(SSL_CTX_get0_certificate(&context), key.get()) != 1) {
    ERR_clear_error();
    return InvalidError("private key " + file.path + ": does not belong to the certificate " +
                        certificate.path);
  }
  if (SSL_CTX_use_PrivateKey(&context, key.get()) != 1) return Refused("private key", file);
  return {};
}

}  // namespace

Result<TlsContext> MakeTlsContext(const TlsPair& pair) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return Error{ErrorCode::kUnavailable, "TLS: " + TakeOpenSslError()};
  Configure(*context);
  if (Result<void> used = UseCertificates(*context, pair.certificate); !used) return used.error();
  if (Result<void> used = UseKey(*context, pair.key, pair.certificate); !used) return used.error();
  return context;
}

WallTime ExpiryOf(const SSL_CTX& context) {
  std::tm parts{};
  ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(&context)), &parts);
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

}  // namespace aliquot::server
