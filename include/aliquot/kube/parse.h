// JSON of the API server and of kube-scheduler into types.h, by simdjson.
// Unknown keys are skipped, null is absent, wrong types of fields that we read
// are an error which names the field, e.g. "spec.nodeName: not a string". Keys
// inside Kubernetes objects are case-sensitive, as the API server writes them.
// Text that is not UTF-8 is an error. What we do not read is not checked.
//
// Thread safety: every function from any thread (a parser per thread inside).
// Errors: kInvalid.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/result.h"
#include "aliquot/kube/types.h"

namespace aliquot::kube {

// `json`: one object, of any length, not padded.
Result<Pod> ParsePod(std::string_view json);
Result<Node> ParseNode(std::string_view json);
Result<ResourceQuota> ParseResourceQuota(std::string_view json);
Result<Lease> ParseLease(std::string_view json);
Result<Secret> ParseSecret(std::string_view json);
Result<WebhookConfiguration> ParseWebhookConfiguration(std::string_view json);

// Only metadata, of an object of any kind.
Result<ObjectMeta> ParseMeta(std::string_view json);

// One page of a list. The items are views into `json`, so that one item which
// cannot be read does not spoil the others.
struct ListPage {
  std::string resource_version;
  std::string continue_token;  // empty: the last page
  std::vector<std::string_view> items;
};
Result<ListPage> ParseListPage(std::string_view json);

// One line of a watch. `object` is a view into the line.
struct WatchEvent {
  enum class Type { kAdded, kModified, kDeleted, kBookmark, kError, kUnknown };
  Type type = Type::kUnknown;
  std::string_view object;
};
Result<WatchEvent> ParseWatchEvent(std::string_view line);

// What the API server answers instead of an object.
struct Status {
  int code = 0;
  std::string reason;
  std::string message;
};
Result<Status> ParseStatus(std::string_view json);

}  // namespace aliquot::kube
