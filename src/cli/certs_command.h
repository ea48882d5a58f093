// `aliquot certs`: makes the webhook's certificate, as `aliquot serve
// --webhook-certs=auto` does: once, for a person or a job.
#pragma once

#include "aliquot/base/clock.h"
#include "aliquot/kube/api.h"
#include "aliquot/server/webhook_certificate.h"
#include "cli/command.h"

namespace aliquot::cli {

Command CertsCommand();

// Makes the certificate if there is no good one, or if it is to be renewed anyway, and
// tells the webhooks of its authority. Says what it did. The exit status.
int KeepCertificate(kube::RawApi& api, const server::WebhookCertificate::Options& options,
                    bool renew, const Clock& clock, Streams io);

}  // namespace aliquot::cli
