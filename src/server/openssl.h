// What every use of OpenSSL needs: owners for its objects, PEM, and its errors as text.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

namespace aliquot::server {

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};

// Owns an object of OpenSSL, e.g. OpenSslPtr<X509, X509_free>.
template <typename T, auto kFree>
using OpenSslPtr = std::unique_ptr<T, FreeWith<kFree>>;

using Bio = OpenSslPtr<BIO, BIO_free>;
using Certificate = OpenSslPtr<X509, X509_free>;
using Key = OpenSslPtr<EVP_PKEY, EVP_PKEY_free>;

// Reads from the text, which outlives it.
inline Bio OpenText(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// What was written into a BIO in memory.
inline std::string TextOf(BIO& bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(&bio, &bytes);
  return std::string(bytes, static_cast<size_t>(size));
}

// The first one in the PEM; null: there is none that can be read.
inline Certificate ReadCertificate(std::string_view pem) {
  return Certificate(PEM_read_bio_X509(OpenText(pem).get(), nullptr, nullptr, nullptr));
}
// Without a pass phrase.
inline Key ReadKey(std::string_view pem) {
  // Without a callback OpenSSL would ask a terminal for the pass phrase.
  const auto no_pass_phrase = [](char*, int, int, void*) { return -1; };
  return Key(PEM_read_bio_PrivateKey(OpenText(pem).get(), nullptr, no_pass_phrase, nullptr));
}

// What went wrong first on this thread since its queue of errors was empty, and
// empties it: what stays in there would be taken for the next connection's.
inline std::string TakeOpenSslError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "OpenSSL error " + std::to_string(code);
}

}  // namespace aliquot::server
