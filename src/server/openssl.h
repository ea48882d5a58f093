// What every use of OpenSSL needs: owners for its objects, and its errors as text.
#pragma once

#include <openssl/err.h>

#include <memory>
#include <string>

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

// What went wrong first on this thread since its queue of errors was empty, and
// empties it: what stays in there would be taken for the next connection's.
inline std::string TakeOpenSslError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "OpenSSL error " + std::to_string(code);
}

}  // namespace aliquot::server
