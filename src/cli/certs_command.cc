#include "cli/certs_command.h"

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/time_text.h"
#include "aliquot/kube/client.h"
#include "cli/build_info.h"

namespace aliquot::cli {
namespace {

struct Flags {
  std::string secret;
  std::vector<std::string> hosts;
  std::string webhook_configuration;
  bool renew = false;
};

void Define(CLI::App& app, Flags& flags) {
  app.add_option("--secret", flags.secret, "NAMESPACE/NAME of the Secret that keeps it")
      ->required();
  app.add_option("--hosts", flags.hosts, "by which the API server calls the webhook")
      ->required()
      ->delimiter(',');
  app.add_option("--webhook-configuration", flags.webhook_configuration,
                 "MutatingWebhookConfiguration into which the caBundle is written");
  app.add_flag("--renew", flags.renew, "make a new certificate, also if the old one is good");
}

std::string Help(std::string_view program) {
  Flags flags;
  CLI::App app(
      "Makes a certificate for the webhook and keeps it in a Secret (tls.crt, tls.key, ca.crt,\n"
      "ca.key), unless there is a good one with more than a third of its life left. Then it\n"
      "tells the API server of the authority. `aliquot serve --webhook-certs=auto` does the\n"
      "same by itself; --hosts is a comma list such as\n"
      "aliquot-scheduler-webhook.kube-system.svc.",
      std::string(program));
  Define(app, flags);
  return app.help();
}

int Run(const Invocation& invocation) {
  Flags flags;
  CLI::App app;
  Define(app, flags);
  std::vector<std::string> args(invocation.args.rbegin(), invocation.args.rend());
  try {
    app.parse(std::move(args));
  } catch (const CLI::ParseError& problem) {
    return UsageError(invocation, problem.what());
  }
  const std::optional<ObjectRef> secret = ParseNamespacedName(flags.secret);
  if (!secret)
    return UsageError(invocation, "--secret=\"" + flags.secret + "\": must be NAMESPACE/NAME");
  Result<kube::ClientConfig> config = kube::LoadClientConfig(kube::ProcessEnvironment());
  if (!config) {
    invocation.io.err << "error: " << config.error().message << "\n";
    return kExitFailure;
  }
  kube::Client client(*std::move(config),
                      {.user_agent = "aliquot/" + std::string(GetBuildInfo().version)});
  return KeepCertificate(client,
                         {.secret = *secret,
                          .hosts = flags.hosts,
                          .webhook_configuration = flags.webhook_configuration},
                         flags.renew, SystemClock(), invocation.io);
}

}  // namespace

int KeepCertificate(kube::RawApi& api, const server::WebhookCertificate::Options& options,
                    bool renew, const Clock& clock, Streams io) {
  server::WebhookCertificate certificate(api, options, clock);
  const auto fail = [&io](const std::string& problem) {
    io.err << "error: " << problem << "\n";
    return kExitFailure;
  };
  const Result<server::WebhookCertificate::Kept> kept = certificate.Keep(renew);
  if (!kept) return fail(kept.error().message);
  io.out << "Secret " << Display(options.secret) << ": "
         << (kept->made_because.empty() ? "kept the certificate"
                                        : "made a new certificate, because " + kept->made_because)
         << "; it ends at " << FormatRfc3339(kept->expires) << "\n";
  const std::string& configuration = options.webhook_configuration;
  if (configuration.empty()) return kExitOk;
  const Result<size_t> told = certificate.TellAuthority();
  if (!told) return fail(told.error().message);
  io.out << "MutatingWebhookConfiguration " << configuration << ": "
         << (*told == 0 ? "has the authority"
                        : "wrote the authority into " + std::to_string(*told) + " webhook(s)")
         << "\n";
  return kExitOk;
}

Command CertsCommand() { return {"certs", "make the webhook's certificate", Help, Run}; }

}  // namespace aliquot::cli
