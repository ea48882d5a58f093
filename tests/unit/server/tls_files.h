// A certificate and its key in files, as Kubernetes mounts a Secret, and the
// settings of clients that trust it.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "aliquot/server/server.h"
#include "server/openssl.h"
#include "support/certificate.h"

namespace aliquot::server {

// The files stand in a folder of their own, behind a link which moves when they
// change. Removed with this object.
class SecretVolume {
 public:
  SecretVolume() {
    std::string path = ::testing::TempDir() + "/secret-XXXXXX";
    folder_ = ::mkdtemp(path.data());
  }
  explicit SecretVolume(const testing::TestCertificate& pair) : SecretVolume() {
    Write(pair.certificate, pair.key);
  }
  ~SecretVolume() { std::filesystem::remove_all(folder_); }
  SecretVolume(const SecretVolume&) = delete;
  SecretVolume& operator=(const SecretVolume&) = delete;

  TlsFiles files() const {
    const std::filesystem::path link = folder_ / "..data";
    return {(link / "tls.crt").string(), (link / "tls.key").string()};
  }

  // Both at once.
  void Write(std::string_view certificate, std::string_view key) {
    const std::filesystem::path version = folder_ / std::to_string(++versions_);
    std::filesystem::create_directory(version);
    std::ofstream(version / "tls.crt") << certificate;
    std::ofstream(version / "tls.key") << key;
    std::filesystem::create_directory_symlink(version, folder_ / "..next");
    std::filesystem::rename(folder_ / "..next", folder_ / "..data");
  }
  void Write(const testing::TestCertificate& pair) { Write(pair.certificate, pair.key); }

 private:
  std::filesystem::path folder_;
  int versions_ = 0;
};

using ClientTls = OpenSslPtr<SSL_CTX, SSL_CTX_free>;

// Of a client that trusts nobody in particular.
inline ClientTls MakeClientTls(int max_version = TLS1_3_VERSION) {
  ClientTls settings(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_max_proto_version(settings.get(), max_version);
  return settings;
}

}  // namespace aliquot::server
