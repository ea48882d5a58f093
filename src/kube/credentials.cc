#include "kube/credentials.h"

#include "aliquot/base/base64.h"
#include "aliquot/base/files.h"
#include "aliquot/base/log.h"
#include "aliquot/base/strings.h"

namespace aliquot::kube {
namespace {

constexpr std::chrono::seconds kReadAgain{50};

}  // namespace

Credentials::Credentials(ClientConfig config, const Clock& clock)
    : clock_(clock), config_(std::move(config)) {}

Result<std::shared_ptr<const Auth>> Credentials::Get(const std::stop_token& stop) {
  MutexLock lock(mutex_);
  if (auth_ == nullptr || clock_.Steady() - read_at_ >= kReadAgain) {
    ReadFiles();
    auth_ = Build();
  }
  const bool expired = handed_out_ && handed_out_->expires && *handed_out_->expires <= clock_.Now();
  if (config_.exec && (!handed_out_ || expired)) {
    Result<ExecCredential> credential = RunExecPlugin(config_, stop);
    if (!credential) return credential.error();
    handed_out_ = std::move(*credential);
    auth_ = Build();
  }
  return auth_;
}

void Credentials::Refused(const std::shared_ptr<const Auth>& used) {
  MutexLock lock(mutex_);
  if (auth_ != used) return;
  auth_ = nullptr;
  handed_out_.reset();
}

void Credentials::ReadFiles() {
  read_at_ = clock_.Steady();
  for (FileText* place : {&config_.ca, &config_.token, &config_.certificate, &config_.key}) {
    if (place->file.empty()) continue;
    Result<std::string> text = ReadFile(place->file);
    if (text && !Trim(*text).empty()) {
      place->text = std::move(*text);
    } else {
      log::Warn("Could not read a credential again, the last one is kept",
                {{"error", text ? place->file + ": is empty" : text.error().message}});
    }
  }
}

std::shared_ptr<const Auth> Credentials::Build() const {
  auto auth = std::make_shared<Auth>();
  if (!config_.server.starts_with("https://")) return auth;  // nothing goes over a plain line
  auth->ca = config_.ca.text;
  auth->certificate = config_.certificate.text;
  auth->key = config_.key.text;
  std::string token(Trim(config_.token.text));
  if (handed_out_) {
    token = Trim(handed_out_->token);
    auth->certificate = handed_out_->certificate;
    auth->key = handed_out_->key;
  }
  if (!token.empty()) {
    auth->headers.push_back("Authorization: Bearer " + token);
  } else if (!config_.username.empty()) {
    auth->headers.push_back("Authorization: Basic " +
                            EncodeBase64(config_.username + ":" + config_.password));
  }
  for (const auto& [name, value] : config_.impersonation) {
    auth->headers.push_back(name + ": " + value);
  }
  return auth;
}

}  // namespace aliquot::kube
