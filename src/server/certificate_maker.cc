#include "server/certificate_maker.h"

#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <optional>
#include <utility>

#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "server/openssl.h"

namespace aliquot::server {
namespace {

// Machines' clocks differ.
constexpr std::chrono::hours kBackdate{1};
constexpr int kSerialBits = 159;  // 20 bytes at most, and positive

// What a certificate says of itself.
struct Profile {
  std::string name;  // its subject's
  Duration life;
  std::vector<std::pair<int, std::string>> extensions;  // by NID, in OpenSSL's notation
};

Profile AuthorityProfile() {
  return {"aliquot-webhook-ca",
          kAuthorityLife,
          {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
           {NID_key_usage, "critical,keyCertSign,cRLSign"},
           {NID_subject_key_identifier, "hash"}}};
}

bool IsAddress(const std::string& host) {
  return OpenSslPtr<ASN1_OCTET_STRING, ASN1_OCTET_STRING_free>(a2i_IPADDRESS(host.c_str())) !=
         nullptr;
}

Profile WebhookProfile(const std::vector<std::string>& hosts, Duration life) {
  std::vector<std::string> names;
  for (const std::string& host : hosts) names.push_back((IsAddress(host) ? "IP:" : "DNS:") + host);
  return {"aliquot-webhook",
          life,
          {{NID_basic_constraints, "critical,CA:FALSE"},
           {NID_key_usage, "critical,digitalSignature"},
           {NID_ext_key_usage, "serverAuth"},
           {NID_subject_key_identifier, "hash"},
           {NID_authority_key_identifier, "keyid:always"},
           {NID_subject_alt_name, Join(names, ",")}}};
}

// What signs.
struct Signer {
  Certificate certificate;
  Key key;
};

std::string ToPem(const X509& certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), &certificate);
  return TextOf(*bio);
}

std::string ToPem(const EVP_PKEY& key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr);
  return TextOf(*bio);
}

bool SetSerial(X509& certificate) {
  const OpenSslPtr<BIGNUM, BN_free> number(BN_new());
  return BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr;
}

bool SetName(X509& certificate, const std::string& name) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(&certificate), "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                    0) == 1;
}

bool SetLife(X509& certificate, WallTime begin, WallTime end) {
  using std::chrono::system_clock;
  return ASN1_TIME_set(X509_getm_notBefore(&certificate), system_clock::to_time_t(begin)) &&
         ASN1_TIME_set(X509_getm_notAfter(&certificate), system_clock::to_time_t(end));
}

bool AddExtension(X509& certificate, X509& issuer, int nid, const std::string& text) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &certificate, nullptr, nullptr, 0);
  const OpenSslPtr<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_nconf_nid(nullptr, &context, nid, text.c_str()));
  return extension && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

// Without a signer it is signed by its own key. Null: OpenSSL's errors say why.
Certificate MakeCertificate(const Profile& profile, EVP_PKEY& key, const Signer* signer,
                            WallTime now) {
  Certificate made(X509_new());
  X509& certificate = *made;
  X509& issuer = signer == nullptr ? certificate : *signer->certificate;
  bool done = X509_set_version(&certificate, X509_VERSION_3) == 1 && SetSerial(certificate) &&
              SetName(certificate, profile.name) &&
              X509_set_issuer_name(&certificate, X509_get_subject_name(&issuer)) == 1 &&
              SetLife(certificate, now - kBackdate, now + profile.life) &&
              X509_set_pubkey(&certificate, &key) == 1;
  for (const auto& [nid, text] : profile.extensions)
    done = done && AddExtension(certificate, issuer, nid, text);
  EVP_PKEY* signing = signer == nullptr ? &key : signer->key.get();
  if (!done || X509_sign(&certificate, signing, EVP_sha256()) == 0) return nullptr;
  return made;
}

WallTime TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  ASN1_TIME_to_tm(time, &parts);
  return std::chrono::system_clock::from_time_t(timegm(&parts));
}

bool IsDue(const X509& certificate, WallTime now) {
  const WallTime begin = TimeOf(X509_get0_notBefore(&certificate));
  const WallTime end = TimeOf(X509_get0_notAfter(&certificate));
  return now >= begin + (end - begin) / 3 * 2;
}

bool IsFor(X509& certificate, const std::string& host) {
  return (IsAddress(host)
              ? X509_check_ip_asc(&certificate, host.c_str(), 0)
              : X509_check_host(&certificate, host.data(), host.size(), 0, nullptr)) == 1;
}

// What is wrong with the chain, as the API server sees it; empty: nothing.
std::string ChainFault(X509& authority, X509& certificate, WallTime now) {
  const OpenSslPtr<X509_STORE, X509_STORE_free> trusted(X509_STORE_new());
  const OpenSslPtr<X509_STORE_CTX, X509_STORE_CTX_free> context(X509_STORE_CTX_new());
  X509_STORE_add_cert(trusted.get(), &authority);
  X509_STORE_CTX_init(context.get(), trusted.get(), &certificate, nullptr);
  X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_SERVER);
  X509_STORE_CTX_set_time(context.get(), 0, std::chrono::system_clock::to_time_t(now));
  if (X509_verify_cert(context.get()) == 1) return "";
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
}

// The authority that signs: the old one, perhaps with a new certificate, or a new one.
Signer AuthorityFrom(const CertificateSet& old, WallTime now) {
  Signer authority{ReadCertificate(old.authority), ReadKey(old.authority_key)};
  const bool fits = authority.certificate && authority.key &&
                    X509_check_private_key(authority.certificate.get(), authority.key.get()) == 1;
  ERR_clear_error();
  if (!fits) authority = {nullptr, Key(EVP_EC_gen("P-256"))};
  if (authority.key && (!authority.certificate || IsDue(*authority.certificate, now)))
    authority.certificate = MakeCertificate(AuthorityProfile(), *authority.key, nullptr, now);
  return authority;
}

bool IsHost(const std::string& host) {
  return !host.empty() && host.find_first_of(", /") == std::string::npos;
}

}  // namespace

Result<CertificateSet> MakeCertificates(const CertificateSet& old,
                                        const std::vector<std::string>& hosts, WallTime now,
                                        Duration life) {
  for (const std::string& host : hosts)
    if (!IsHost(host)) return InvalidError("\"" + host + "\" is no DNS name and no IP address");
  ERR_clear_error();
  const Signer authority = AuthorityFrom(old, now);
  const Key key(EVP_EC_gen("P-256"));
  Certificate certificate;
  if (authority.certificate && key)
    certificate = MakeCertificate(WebhookProfile(hosts, life), *key, &authority, now);
  if (!certificate)
    return Error{ErrorCode::kInvalid, "could not make a certificate: " + TakeOpenSslError()};
  return CertificateSet{ToPem(*authority.certificate), ToPem(*authority.key), ToPem(*certificate),
                        ToPem(*key)};
}

std::string ReasonToRenew(const CertificateSet& certificates, const std::vector<std::string>& hosts,
                          WallTime now) {
  const Certificate authority = ReadCertificate(certificates.authority);
  const Certificate certificate = ReadCertificate(certificates.certificate);
  const Key key = ReadKey(certificates.key);
  ERR_clear_error();
  if (!certificate) return "there is none";
  if (!key || X509_check_private_key(certificate.get(), key.get()) != 1) {
    ERR_clear_error();
    return "its key is not there";
  }
  for (const std::string& host : hosts)
    if (!IsFor(*certificate, host)) return "it is not for " + host;
  if (!authority) return "its authority is not there";
  if (std::string fault = ChainFault(*authority, *certificate, now); !fault.empty()) return fault;
  if (IsDue(*certificate, now)) return "it ends at " + FormatRfc3339(ExpiryOf(certificates));
  return "";
}

WallTime ExpiryOf(const CertificateSet& certificates) {
  const Certificate certificate = ReadCertificate(certificates.certificate);
  ERR_clear_error();
  return certificate ? TimeOf(X509_get0_notAfter(certificate.get())) : WallTime{};
}

}  // namespace aliquot::server
