// The calls for a webhook's certificate: the Secret that keeps it, and the caBundle by
// which the API server knows it. Writes change nothing if the object has been written
// since it was read (kConflict).
//
// Errors and thread safety: as Api.
#pragma once

#include <string>
#include <string_view>

#include "aliquot/base/object_ref.h"
#include "aliquot/base/result.h"
#include "aliquot/kube/api.h"
#include "aliquot/kube/types.h"

namespace aliquot::kube {

Result<Secret> GetSecret(RawApi& api, const ObjectRef& secret);
// Of type kubernetes.io/tls, which wants tls.crt and tls.key among the data.
Result<void> CreateTlsSecret(RawApi& api, const ObjectRef& secret, const StringMap& data);
// Other keys of the data stay.
Result<void> PatchSecret(RawApi& api, const Secret& secret, const StringMap& data);

Result<WebhookConfiguration> GetMutatingWebhookConfiguration(RawApi& api, std::string_view name);
// Gives every webhook of it this caBundle (base64).
Result<void> PatchCaBundles(RawApi& api, const WebhookConfiguration& configuration,
                            const std::string& ca_bundle);

}  // namespace aliquot::kube
