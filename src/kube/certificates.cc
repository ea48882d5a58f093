#include "aliquot/kube/certificates.h"

#include <nlohmann/json.hpp>

#include "aliquot/base/base64.h"
#include "aliquot/kube/http.h"
#include "aliquot/kube/parse.h"

namespace aliquot::kube {
namespace {

using Json = nlohmann::json;

// Nothing here may stand before a decision.
constexpr CallOptions kCall{.lane = Lane::kBackground};

Json Base64Json(const StringMap& data) {
  Json object = Json::object();
  for (const auto& [key, bytes] : data) object[key] = EncodeBase64(bytes);
  return object;
}

Result<void> Done(const Result<std::string>& answer) {
  if (!answer) return answer.error();
  return {};
}

}  // namespace

Result<Secret> GetSecret(RawApi& api, const ObjectRef& secret) {
  const Result<std::string> body =
      api.Call("GET", SecretPath(secret.ns, secret.name), "", "", kCall);
  if (!body) return body.error();
  return ParseSecret(*body);
}

Result<void> CreateTlsSecret(RawApi& api, const ObjectRef& secret, const StringMap& data) {
  const Json body = {{"apiVersion", "v1"},
                     {"kind", "Secret"},
                     {"metadata", {{"name", secret.name}, {"namespace", secret.ns}}},
                     {"type", "kubernetes.io/tls"},
                     {"data", Base64Json(data)}};
  return Done(api.Call("POST", SecretsPath(secret.ns), body.dump(), kJson, kCall));
}

Result<void> PatchSecret(RawApi& api, const Secret& secret, const StringMap& data) {
  const Json patch = {{"metadata", {{"resourceVersion", secret.meta.resource_version}}},
                      {"data", Base64Json(data)}};
  return Done(api.Call("PATCH", SecretPath(secret.meta.ns, secret.meta.name), patch.dump(),
                       kMergePatch, kCall));
}

Result<WebhookConfiguration> GetMutatingWebhookConfiguration(RawApi& api, std::string_view name) {
  const Result<std::string> body =
      api.Call("GET", MutatingWebhookConfigurationPath(name), "", "", kCall);
  if (!body) return body.error();
  return ParseWebhookConfiguration(*body);
}

Result<void> PatchCaBundles(RawApi& api, const WebhookConfiguration& configuration,
                            const std::string& ca_bundle) {
  Json webhooks = Json::array();
  for (const WebhookConfiguration::Webhook& webhook : configuration.webhooks)
    webhooks.push_back({{"name", webhook.name}, {"clientConfig", {{"caBundle", ca_bundle}}}});
  const Json patch = {{"metadata", {{"resourceVersion", configuration.meta.resource_version}}},
                      {"webhooks", std::move(webhooks)}};
  return Done(api.Call("PATCH", MutatingWebhookConfigurationPath(configuration.meta.name),
                       patch.dump(), kStrategicPatch, kCall));
}

}  // namespace aliquot::kube
