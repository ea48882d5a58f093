// A certificate and its key, made on the spot.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <string>

#include "aliquot/base/clock.h"

namespace aliquot::testing {

// Self-signed, for one DNS name and 127.0.0.1.
struct TestCertificate {
  std::string certificate, key;  // PEM

  explicit TestCertificate(const std::string& name, long serial = 1,
                           WallTime expires = SystemClock().Now() + std::chrono::hours(1)) {
    EVP_PKEY* pkey = EVP_EC_gen("P-256");
    X509* x509 = X509_new();
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), serial);
    const std::time_t end = std::chrono::system_clock::to_time_t(expires);
    ASN1_TIME_set(X509_getm_notBefore(x509), end - 2 * 3600);
    ASN1_TIME_set(X509_getm_notAfter(x509), end);
    X509_set_pubkey(x509, pkey);
    X509_NAME* subject = X509_get_subject_name(x509);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(x509, subject);
    X509_EXTENSION* alt = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name,
                                              ("DNS:" + name + ",IP:127.0.0.1").c_str());
    X509_add_ext(x509, alt, -1);
    X509_EXTENSION_free(alt);
    X509_sign(x509, pkey, EVP_sha256());
    certificate = Pem([&](BIO* bio) { PEM_write_bio_X509(bio, x509); });
    key = Pem([&](BIO* bio) {
      PEM_write_bio_PrivateKey(bio, pkey, nullptr, nullptr, 0, nullptr, nullptr);
    });
    X509_free(x509);
    EVP_PKEY_free(pkey);
  }

 private:
  template <typename F>
  static std::string Pem(F write) {
    BIO* bio = BIO_new(BIO_s_mem());
    write(bio);
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<size_t>(size));
    BIO_free(bio);
    return text;
  }
};

}  // namespace aliquot::testing
