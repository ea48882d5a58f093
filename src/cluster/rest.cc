#include "cluster/rest.h"

#include <charconv>

#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "cluster/kinds.h"
#include "cluster/patch.h"

namespace aliquot::cluster {
namespace {

constexpr std::chrono::hours kEventLife{1};
constexpr std::string_view kOwnNamespaces[] = {"default", "kube-system", "kube-public",
                                               "kube-node-lease"};

const Resource& Namespaces() { return ResourceOf(Kind::kNamespace); }

Place NamespacePlace(std::string_view name) { return {&Namespaces(), "", std::string(name), ""}; }

bool IsTerminating(const Json& object) { return object["metadata"].contains("deletionTimestamp"); }

Rest::Answer ObjectAnswer(const Resource& resource, const Object& object, int status = 200) {
  return {status, FullText(resource, object)};
}

// A dry run's answer, and that of an object which is not stored any more.
Rest::Answer ValueAnswer(const Resource& resource, Json value, int status = 200) {
  value["kind"] = resource.kind_name;
  value["apiVersion"] = resource.ApiVersion();
  return {status, value.dump()};
}

ApiError Undecodable(const Resource& resource, const std::string& problem) {
  const std::string kind(resource.kind_name);
  return BadRequest(kind + " in version \"" + std::string(resource.version) +
                    "\" cannot be handled as a " + kind + ": " + problem);
}

// Copies members of `from` to `to`, or takes them away.
void Keep(const Json& from, Json& to, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (from.contains(name)) {
      to[name] = from[name];
    } else {
      to.erase(name);
    }
  }
}

ApiError StorageConflict(const Place& place, std::string_view what, const std::string& wanted,
                         const std::string& found) {
  const std::string name(what);
  return Conflict(*place.resource, place.name,
                  "StorageError: invalid object, Code: 4, Key: /registry/" +
                      std::string(place.resource->plural) + "/" + place.Key() +
                      ", ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: " + name +
                      " in precondition: " + wanted + ", " + name + " in object meta: " + found);
}

std::string Text(const Json& object, const char* name) { return object.value(name, ""); }

std::string_view Param(const Query& query, std::string_view name) {
  const auto it = query.find(name);
  return it == query.end() ? std::string_view() : it->second;
}

std::optional<uint64_t> ParseVersion(std::string_view text) {
  uint64_t version = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return version;
}

// Which objects a list is about, and as of when.
struct ListRange {
  uint64_t version = 0;
  bool current = true;  // else as they were at `version`
  std::string after;    // only keys after this one
  int64_t limit = 0;    // 0: all
};

ApiError TooLargeVersion(std::string_view asked, uint64_t version) {
  return {504,
          "Timeout",
          "Timeout: Too large resource version: " + std::string(asked) +
              ", current: " + std::to_string(version),
          {{"causes",
            {{{"reason", "ResourceVersionTooLarge"}, {"message", "Too large resource version"}}}},
           {"retryAfterSeconds", 1}}};
}

// A continue token is "<version>:<last key>".
Outcome<ListRange> ContinueRange(std::string_view token, int64_t limit) {
  const size_t colon = token.find(':');
  const auto version = ParseVersion(token.substr(0, colon));
  if (!version || colon == std::string_view::npos) {
    return BadRequest("invalid continue token: continue key is not valid: " + std::string(token));
  }
  return ListRange{*version, false, std::string(token.substr(colon + 1)), limit};
}

Outcome<ListRange> ReadRange(const Query& query, uint64_t now) {
  const std::string_view asked = Param(query, "resourceVersion");
  const std::string_view match = Param(query, "resourceVersionMatch");
  const std::string_view token = Param(query, "continue");
  int64_t limit = 0;
  if (const std::string_view text = Param(query, "limit"); !text.empty()) {
    const auto parsed = ParseInt64(text);
    if (!parsed)
      return BadRequest("strconv.ParseInt: parsing \"" + std::string(text) + "\": invalid syntax");
    limit = *parsed;
  }
  const auto forbidden = [](std::string field, const std::string& why) {
    return InvalidOptions({std::move(field), "Forbidden: " + why});
  };
  if (ParseBool(Param(query, "sendInitialEvents")).value_or(false)) {
    return forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list");
  }
  if (!match.empty() && asked.empty()) {
    return forbidden("resourceVersionMatch",
                     "resourceVersionMatch is forbidden unless resourceVersion is provided");
  }
  if (!match.empty() && match != "Exact" && match != "NotOlderThan") {
    return InvalidOptions(
        {"resourceVersionMatch", "Unsupported value: \"" + std::string(match) +
                                     "\": supported values: \"Exact\", \"NotOlderThan\", \"\""});
  }
  if (match == "Exact" && asked == "0") {
    return forbidden("resourceVersionMatch",
                     "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
  }
  if (!token.empty()) {
    if (!asked.empty() && asked != "0") {
      return BadRequest("specifying resource version is not allowed when using continue");
    }
    return ContinueRange(token, limit);
  }

  ListRange range{now, true, "", asked == "0" ? 0 : limit};
  if (asked.empty() || asked == "0") return range;
  const auto version = ParseVersion(asked);
  if (!version) {
    return BadRequest("invalid resource version: resourceVersion: Invalid value: \"" +
                      std::string(asked) + "\": strconv.ParseUint: parsing \"" +
                      std::string(asked) + "\": invalid syntax");
  }
  if (*version > now) return TooLargeVersion(asked, now);
  if (match == "Exact" || (match.empty() && limit > 0)) {
    range.version = *version;
    range.current = false;
  }
  return range;
}

}  // namespace

Rest::Rest(uint64_t seed, size_t history_per_kind, const Clock& clock)
    : clock_(clock), store_(history_per_kind), random_(seed) {
  for (const std::string_view name : kOwnNamespaces) {
    Outcome<Answer> created = Create(NamespacePlace(""), {{"metadata", {{"name", name}}}}, false);
    ALIQUOT_CHECK(created);
  }
}

// A random (version 4) UUID.
std::string Rest::NewUid() {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string uid;
  for (const char c : std::string_view("xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx")) {
    const size_t digit = random_() % 16;
    uid += c == 'x' ? kHex[digit] : c == 'y' ? kHex[8 + digit % 4] : c;
  }
  return uid;
}

// The body as an object of the place's kind, with defaults.
Outcome<Json> Rest::Accept(const Place& place, Json body) const {
  const Resource& resource = *place.resource;
  if (!body.is_object()) return Undecodable(resource, "json: the body is not an object");
  const Json kind = body.value("kind", Json()), version = body.value("apiVersion", Json());
  if (!kind.is_null() && kind != resource.kind_name) {
    return BadRequest((kind.is_string() ? kind.get<std::string>() : kind.dump()) +
                      " in version \"" + std::string(resource.version) +
                      "\" cannot be handled as a " + std::string(resource.kind_name));
  }
  if (!version.is_null() && version != resource.ApiVersion()) {
    return Undecodable(resource,
                       "the apiVersion is " + version.dump() + ", not " + resource.ApiVersion());
  }
  body.erase("kind");
  body.erase("apiVersion");
  if (const auto problem = Decode(resource, body)) return Undecodable(resource, *problem);
  Json& meta = body["metadata"];
  if (resource.namespaced) {
    if (meta.value("namespace", place.ns) != place.ns) {
      return BadRequest(
          "the namespace of the provided object does not match the namespace sent on the request");
    }
    meta["namespace"] = place.ns;
  } else {
    meta.erase("namespace");
  }
  return body;
}

std::optional<ApiError> Rest::CheckNamespace(const Place& place, std::string_view name) const {
  if (!place.resource->namespaced) return std::nullopt;
  const ObjectPtr ns = store_.Find(Namespaces(), place.ns);
  if (!ns) return NotFound(Namespaces(), place.ns);
  if (!IsTerminating(ns->value)) return std::nullopt;
  ApiError error = Forbidden(
      *place.resource, name,
      "unable to create new content in namespace " + place.ns + " because it is being terminated");
  error.details["causes"] = {{{"reason", "NamespaceTerminating"},
                              {"message", "namespace " + place.ns + " is being terminated"},
                              {"field", "metadata.namespace"}}};
  return error;
}

Outcome<Rest::Answer> Rest::Get(const Place& place) const {
  const ObjectPtr object = store_.Find(*place.resource, place.Key());
  if (!object) return NotFound(*place.resource, place.name);
  return ObjectAnswer(*place.resource, *object);
}

Outcome<Rest::Answer> Rest::List(const Place& place, const Query& query) const {
  const Resource& resource = *place.resource;
  Outcome<Selector> selector =
      Selector::Parse(resource, Param(query, "labelSelector"), Param(query, "fieldSelector"));
  if (!selector) return selector.error();
  Outcome<ListRange> range = ReadRange(query, store_.version());
  if (!range) return range.error();

  std::optional<Objects> then;
  const bool changed = store_.Forgotten(resource, range->version) ||
                       store_.Next(resource, range->version) != nullptr;
  if (!range->current && changed) {  // else it is all as it was: no copy
    then = store_.AllAt(resource, range->version);
    if (!then) {
      return ApiError{410, "Expired",
                      "The provided continue parameter is too old to display a consistent list "
                      "result, or the resource version is too old"};
    }
  }
  const Objects& objects = then ? *then : store_.All(resource);

  const std::string prefix = place.ns.empty() ? "" : place.ns + "/";
  auto it = range->after.empty() ? objects.lower_bound(prefix) : objects.upper_bound(range->after);
  std::string items, last;
  int64_t count = 0, remaining = 0;
  for (; it != objects.end() && it->first.starts_with(prefix); ++it) {
    const Object& object = *it->second;
    if (!selector->Matches(object.value)) continue;
    if (range->limit > 0 && count == range->limit) {
      ++remaining;
      if (!selector->everything()) break;  // how many there are is not told
      continue;
    }
    if (count++ > 0) items += ',';
    items += object.text;
    last = it->first;
  }

  Json meta = {{"resourceVersion", std::to_string(range->version)}};
  if (remaining > 0) {
    meta["continue"] = std::to_string(range->version) + ":" + last;
    if (selector->everything()) meta["remainingItemCount"] = remaining;
  }
  std::string body = "{\"kind\":\"" + std::string(resource.kind_name) + "List\",\"apiVersion\":\"" +
                     resource.ApiVersion() + "\",\"metadata\":" + meta.dump() + ",\"items\":[";
  return Answer{200, body.append(items).append("]}")};
}

Outcome<Rest::Answer> Rest::Create(const Place& place, Json body, bool dry_run) {
  const Resource& resource = *place.resource;
  Outcome<Json> accepted = Accept(place, std::move(body));
  if (!accepted) return accepted.error();
  Json object = std::move(*accepted);
  Json& meta = object["metadata"];
  if (meta.contains("resourceVersion")) {
    return ApiError{500, "", "resourceVersion should not be set on objects to be created"};
  }
  std::string name = Text(meta, "name");
  if (name.empty() && meta.contains("generateName")) {
    constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
    name = Text(meta, "generateName");
    for (int i = 0; i < 5; ++i) name += kLetters[random_() % kLetters.size()];
    meta["name"] = name;
  }
  if (auto error = CheckNamespace(place, name)) return *error;

  for (const char* field : {"deletionTimestamp", "deletionGracePeriodSeconds", "generation"})
    meta.erase(field);
  PrepareNew(resource, object, clock_.Now());
  if (const auto errors = Validate(resource, nullptr, object); !errors.empty()) {
    return Invalid(resource, name, errors);
  }
  const std::string key = Place{&resource, place.ns, name, ""}.Key();
  if (store_.Find(resource, key)) return AlreadyExists(resource, name);
  meta["uid"] = NewUid();
  meta["creationTimestamp"] = FormatRfc3339(clock_.Now());
  if (dry_run) return ValueAnswer(resource, std::move(object), 201);
  ExpireEvents();
  const ObjectPtr stored = store_.Put(resource, key, std::move(object));
  if (resource.kind == Kind::kEvent) {
    expiries_.push_back({clock_.Steady() + kEventLife, key, stored->version});
  }
  return ObjectAnswer(resource, *stored, 201);
}

Outcome<Rest::Answer> Rest::Update(const Place& place, Json body, bool dry_run) {
  const Resource& resource = *place.resource;
  Outcome<Json> accepted = Accept(place, std::move(body));
  if (!accepted) return accepted.error();
  Json& meta = (*accepted)["metadata"];
  if (const std::string name = Text(meta, "name"); name != place.name) {
    return BadRequest("the name of the object (" + name + ") does not match the name on the URL (" +
                      place.name + ")");
  }
  const ObjectPtr old = store_.Find(resource, place.Key());
  if (!old) {
    if (!resource.create_on_update) return NotFound(resource, place.name);
    meta.erase("resourceVersion");
    return Create({&resource, place.ns, "", ""}, std::move(*accepted), dry_run);
  }
  const std::string uid = Text(meta, "uid"), real = Text(old->meta(), "uid");
  if (!uid.empty() && uid != real) return StorageConflict(place, "UID", uid, real);
  if (!resource.blind_update && !meta.contains("resourceVersion")) {
    return Invalid(
        resource, place.name,
        {{"metadata.resourceVersion", "Invalid value: 0: must be specified for an update"}});
  }
  return Replace(place, old, std::move(*accepted), dry_run);
}

Outcome<Rest::Answer> Rest::Patch(const Place& place, std::string_view content_type,
                                  std::string_view patch, bool dry_run) {
  const Resource& resource = *place.resource;
  const ObjectPtr old = store_.Find(resource, place.Key());
  if (!old) return NotFound(resource, place.name);
  Json before = old->value;
  before["kind"] = resource.kind_name;
  before["apiVersion"] = resource.ApiVersion();
  Outcome<Json> patched = ApplyPatch(std::move(before), content_type, patch);
  if (!patched) return patched.error();
  Json object = std::move(*patched);
  object.erase("kind");
  object.erase("apiVersion");
  if (const auto problem = Decode(resource, object)) {
    return ApiError{422, "Invalid", " \"\" is invalid: patch: Invalid value: " + *problem,
                    Json::object()};
  }
  const Json& meta = object["metadata"];
  if (const std::string name = Text(meta, "name"); name != place.name) {
    return BadRequest("the name of the object (" + name + ") does not match the name on the URL (" +
                      place.name + ")");
  }
  if (Text(meta, "namespace") != place.ns) {
    return BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  if (const std::string uid = Text(meta, "uid"); uid != Text(old->meta(), "uid")) {
    return Invalid(resource, place.name,
                   {{"metadata.uid", "Invalid value: \"" + uid + "\": field is immutable"}});
  }
  return Replace(place, old, std::move(object), dry_run);
}

// What a PUT and a PATCH have in common.
Outcome<Rest::Answer> Rest::Replace(const Place& place, const ObjectPtr& old, Json object,
                                    bool dry_run) {
  const Resource& resource = *place.resource;
  Json& meta = object["metadata"];
  const std::string version = Text(meta, "resourceVersion");
  if (!version.empty() && version != std::to_string(old->version)) {
    return Modified(resource, place.name);
  }
  Keep(old->meta(), meta,
       {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
        "generateName", "resourceVersion"});
  PrepareUpdate(resource, old->value, object, place.subresource == "status");
  if (const auto errors = Validate(resource, &old->value, object); !errors.empty()) {
    return Invalid(resource, place.name, errors);
  }
  if (object == old->value) return ObjectAnswer(resource, *old);
  if (meta.contains("generation") && object["spec"] != old->value["spec"]) {
    meta["generation"] = meta["generation"].get<int64_t>() + 1;
  }
  if (dry_run) return ValueAnswer(resource, std::move(object));
  // The last finalizer of an object that has been deleted: now it goes.
  if (IsTerminating(object) && !meta.contains("finalizers") && old->meta().contains("finalizers") &&
      meta.value("deletionGracePeriodSeconds", int64_t{0}) == 0 &&
      resource.kind != Kind::kNamespace) {
    Remove(place);
    return ValueAnswer(resource, std::move(object));
  }
  ExpireEvents();
  const ObjectPtr stored = store_.Put(resource, place.Key(), std::move(object));
  if (resource.kind == Kind::kEvent) {
    expiries_.push_back({clock_.Steady() + kEventLife, place.Key(), stored->version});
  }
  return ObjectAnswer(resource, *stored);
}

Outcome<Rest::Answer> Rest::Delete(const Place& place, const Query& query, const Json& options,
                                   bool dry_run) {
  const Resource& resource = *place.resource;
  const ObjectPtr old = store_.Find(resource, place.Key());
  if (!old) return NotFound(resource, place.name);
  const Json preconditions =
      options.is_object() ? options.value("preconditions", Json::object()) : Json::object();
  const auto mismatch = [&](const char* field, std::string_view what, const std::string& real,
                            std::string_view perhaps) -> std::optional<ApiError> {
    const Json wanted = preconditions.value(field, Json());
    if (!wanted.is_string() || wanted == real) return std::nullopt;
    const std::string of(what);
    const std::string kind = resource.Qualified(resource.kind_name);
    return ApiError{409,
                    "Conflict",
                    "Operation cannot be fulfilled on " + kind + " \"" + place.name + "\": the " +
                        of + " in the precondition (" + wanted.get<std::string>() +
                        ") does not match the " + of + " in record (" + real +
                        "). The object might have been " + std::string(perhaps),
                    {{"name", place.name}, {"kind", kind}}};
  };
  if (auto error = mismatch("uid", "UID", Text(old->meta(), "uid"), "deleted and then recreated"))
    return *error;
  if (auto error =
          mismatch("resourceVersion", "ResourceVersion", std::to_string(old->version), "modified"))
    return *error;
  if (dry_run) return ObjectAnswer(resource, *old);

  std::optional<int64_t> grace = ParseInt64(Param(query, "gracePeriodSeconds"));
  if (options.is_object()) {
    const Json given = options.value("gracePeriodSeconds", Json());
    if (given.is_number_integer()) grace = given.get<int64_t>();
  }
  if (resource.kind == Kind::kPod) return DeletePod(place, old, grace);
  if (resource.kind == Kind::kNamespace) return DeleteNamespace(place, old);
  if (old->meta().contains("finalizers")) {
    if (IsTerminating(old->value)) return ObjectAnswer(resource, *old);
    Json marked = old->value;
    marked["metadata"]["deletionTimestamp"] = FormatRfc3339(clock_.Now());
    marked["metadata"]["deletionGracePeriodSeconds"] = 0;
    return ObjectAnswer(resource, *store_.Put(resource, place.Key(), std::move(marked)));
  }
  Remove(place);
  if (resource.kind == Kind::kResourceQuota) {
    return ObjectAnswer(resource, *WithVersion(*old, store_.version()));
  }
  Json details = {{"name", place.name}, {"kind", resource.plural}, {"uid", old->meta()["uid"]}};
  if (!resource.group.empty()) details["group"] = resource.group;
  return Answer{200, Json{{"kind", "Status"},
                          {"apiVersion", "v1"},
                          {"metadata", Json::object()},
                          {"status", "Success"},
                          {"details", details}}
                         .dump()};
}

// A pod is first marked, then goes: at once with no grace period, else when
// somebody (a kubelet) deletes it again without one.
Outcome<Rest::Answer> Rest::DeletePod(const Place& place, const ObjectPtr& old,
                                      std::optional<int64_t> asked_grace) {
  const Resource& resource = *place.resource;
  const int64_t grace = GracePeriod(resource, old->value, asked_grace);
  ObjectPtr marked = old;
  const bool first = !IsTerminating(old->value);
  const int64_t before = old->meta().value("deletionGracePeriodSeconds", int64_t{0});
  if (first || (asked_grace && grace < before)) {
    Json value = old->value;
    Json& meta = value["metadata"];
    meta["deletionTimestamp"] = FormatRfc3339(clock_.Now() + std::chrono::seconds(grace));
    meta["deletionGracePeriodSeconds"] = grace;
    if (first) meta["generation"] = meta.value("generation", int64_t{0}) + 1;
    marked = store_.Put(resource, place.Key(), std::move(value));
  }
  const bool gone =
      marked->meta()["deletionGracePeriodSeconds"] == 0 && !marked->meta().contains("finalizers");
  if (!gone) return ObjectAnswer(resource, *marked);
  Remove(place);
  return ObjectAnswer(resource, *WithVersion(*marked, store_.version()));
}

// Its objects go with it; it goes itself when none is left.
Outcome<Rest::Answer> Rest::DeleteNamespace(const Place& place, const ObjectPtr& old) {
  const Resource& resource = *place.resource;
  for (const std::string_view own : kOwnNamespaces) {
    if (own == place.name && own != "kube-node-lease") {
      return Forbidden(resource, place.name, "this namespace may not be deleted");
    }
  }
  ObjectPtr marked = old;
  if (!IsTerminating(old->value)) {
    Json value = old->value;
    value["metadata"]["deletionTimestamp"] = FormatRfc3339(clock_.Now());
    value["status"]["phase"] = "Terminating";
    marked = store_.Put(resource, place.name, std::move(value));
  }
  const std::string prefix = place.name + "/";
  for (const Resource& kind : Resources()) {
    if (!kind.namespaced) continue;
    std::vector<std::string> names;
    const Objects& all = store_.All(kind);
    for (auto it = all.lower_bound(prefix); it != all.end() && it->first.starts_with(prefix); ++it)
      names.push_back(it->first.substr(prefix.size()));
    for (const std::string& name : names) {
      const Outcome<Answer> deleted =
          Delete({&kind, place.name, name, ""}, {}, {{"gracePeriodSeconds", 0}}, false);
      ALIQUOT_CHECK(deleted);
    }
  }
  RemoveEmptied(place.name);
  return ObjectAnswer(resource, *marked);
}

void Rest::RemoveEmptied(const std::string& ns) {
  const ObjectPtr object = store_.Find(Namespaces(), ns);
  if (!object || !IsTerminating(object->value) || object->meta().contains("finalizers")) return;
  const std::string prefix = ns + "/";
  for (const Resource& kind : Resources()) {
    if (!kind.namespaced) continue;
    const Objects& all = store_.All(kind);
    const auto it = all.lower_bound(prefix);
    if (it != all.end() && it->first.starts_with(prefix)) return;
  }
  store_.Remove(Namespaces(), ns);
}

void Rest::Remove(const Place& place) {
  store_.Remove(*place.resource, place.Key());
  if (place.resource->namespaced) RemoveEmptied(place.ns);
}

Outcome<Rest::Answer> Rest::Bind(const Place& place, const Json& binding, bool dry_run) {
  const Resource& resource = *place.resource;
  const auto member = [](const Json& object, const char* name) {
    const Json found = object.is_object() ? object.value(name, Json()) : Json();
    return found.is_null() ? Json::object() : found;
  };
  Json meta = member(binding, "metadata");
  const Json target = member(binding, "target");
  Json read = {{"metadata", meta}};
  if (const auto problem = DecodeMeta(read)) {
    return BadRequest("Binding in version \"v1\" cannot be handled as a Binding: " + *problem);
  }
  meta = read["metadata"];
  if (Text(meta, "name") != place.name) {
    return BadRequest("name in URL does not match name in Binding object");
  }
  const Json kind = target.value("kind", Json("")), node = target.value("name", Json(""));
  if (kind != "Node" && kind != "") {
    return ApiError{500, "",
                    "target.kind: Unsupported value: " + kind.dump() +
                        ": supported values: \"Node\", \"<empty>\""};
  }
  if (!node.is_string() || node == "") {
    return ApiError{500, "", "target.name: Required value"};
  }
  const ObjectPtr old = store_.Find(resource, place.Key());
  if (!old) return NotFound(resource, place.name);
  const std::string uid = Text(meta, "uid"), version = Text(meta, "resourceVersion");
  const std::string real_uid = Text(old->meta(), "uid");
  const std::string real_version = std::to_string(old->version);
  if (!uid.empty() && uid != real_uid) return StorageConflict(place, "UID", uid, real_uid);
  if (!version.empty() && version != real_version) {
    return StorageConflict(place, "ResourceVersion", version, real_version);
  }
  const auto refuse = [&](const std::string& why) {
    return ApiError{409,
                    "Conflict",
                    "Operation cannot be fulfilled on pods/binding \"" + place.name + "\": pod " +
                        place.name + " " + why,
                    {{"name", place.name}, {"kind", "pods/binding"}}};
  };
  Json value = old->value;
  Json& spec = value["spec"];
  if (IsTerminating(value)) return refuse("is being deleted, cannot be assigned to a host");
  if (const std::string bound = Text(spec, "nodeName"); !bound.empty()) {
    return refuse("is already assigned to node \"" + bound + "\"");
  }
  if (spec.contains("schedulingGates") && !spec["schedulingGates"].empty()) {
    return refuse("has non-empty .spec.schedulingGates");
  }

  spec["nodeName"] = node;
  Json& status = value["status"];
  status.erase("nominatedNodeName");
  Json condition = {{"type", "PodScheduled"},
                    {"status", "True"},
                    {"lastProbeTime", nullptr},
                    {"lastTransitionTime", FormatRfc3339(clock_.Now())}};
  bool replaced = false;
  for (Json& known : status["conditions"]) {
    if (known.is_object() && known.value("type", Json()) == "PodScheduled") {
      known = condition;
      replaced = true;
    }
  }
  if (!replaced) status["conditions"].push_back(std::move(condition));
  for (const char* map : {"annotations", "labels"}) {
    if (meta.contains(map)) value["metadata"][map].update(meta[map]);
  }
  if (const auto errors = ValidateMeta(value["metadata"]); !errors.empty()) {
    return Invalid(resource, place.name, errors);
  }
  if (!dry_run) store_.Put(resource, place.Key(), std::move(value));
  return Answer{201, Json{{"kind", "Status"},
                          {"apiVersion", "v1"},
                          {"metadata", Json::object()},
                          {"status", "Success"},
                          {"code", 201}}
                         .dump()};
}

Outcome<Rest::Answer> Rest::Finalize(const Place& place) {
  const ObjectPtr old = store_.Find(*place.resource, place.name);
  if (!old) return NotFound(*place.resource, place.name);
  if (IsTerminating(old->value)) RemoveEmptied(place.name);
  return ObjectAnswer(*place.resource, *old);
}

void Rest::ExpireEvents() {
  const Resource& events = ResourceOf(Kind::kEvent);
  while (!expiries_.empty() && expiries_.front().at <= clock_.Steady()) {
    const ObjectPtr event = store_.Find(events, expiries_.front().key);
    if (event && event->version == expiries_.front().version) {
      store_.Remove(events, expiries_.front().key);
    }
    expiries_.pop_front();
  }
}

}  // namespace aliquot::cluster
