#include "conformance/player.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "aliquot/base/base64.h"
#include "aliquot/base/quantity.h"
#include "aliquot/base/strings.h"
#include "aliquot/base/time_text.h"
#include "aliquot/cluster/cluster.h"
#include "aliquot/cluster/local_client.h"
#include "aliquot/config/device_config.h"
#include "aliquot/config/flags.h"
#include "aliquot/vendors/registry.h"
#include "cli/daemon.h"
#include "cli/vendor_configs.h"
#include "server/review.h"
#include "server/wire.h"
#include "support/zone.h"

namespace aliquot::conformance {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

const fs::path kHome = CONFORMANCE_DIR;
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::seconds kBackground{1};  // until what is written in the background is there
constexpr size_t kCaches = 3;                   // nodes, pods, quotas
constexpr const char* kImage = "test";          // of containers that a case gives none
constexpr const char* kHold = "conformance.test/hold";

// A mistake in the case, or something refused to carry it out.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The machine's clock, set forward by steps that wait.
class ShiftedClock : public Clock {
 public:
  WallTime Now() const override {
    return SystemClock().Now() + std::chrono::duration_cast<WallTime::duration>(Shift());
  }
  SteadyTime Steady() const override { return SystemClock().Steady() + Shift(); }
  void Advance(Duration by) { shift_ += by.count(); }

 private:
  Duration Shift() const { return Duration(shift_.load()); }
  std::atomic<int64_t> shift_{0};
};

SteadyTime Patience() { return std::chrono::steady_clock::now() + kPatience; }

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// ---------------------------------------------------------------------- cases

// The names between the brackets of `GROUPS = [...]` in run-groups.
std::vector<std::string> Groups() {
  const std::string text = ReadFile(kHome / "run-groups");
  const size_t begin = text.find("GROUPS = [");
  const std::string list = text.substr(begin, text.find(']', begin) - begin);
  const std::regex quoted("\"([^\"]+)\"");
  std::vector<std::string> groups;
  for (std::sregex_iterator it(list.begin(), list.end(), quoted), end; it != end; ++it) {
    groups.push_back((*it)[1]);
  }
  return groups;
}

// ---------------------------------------------------------------------- texts

// With every text in it, except keys, changed.
template <typename F>
Json MapTexts(const Json& value, const F& change) {
  if (value.is_string()) return change(value.get<std::string>());
  Json out = value;
  if (value.is_structured()) {
    for (Json& item : out) item = MapTexts(item, change);
  }
  return out;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The text with what `find` finds replaced by what `make` makes of it.
template <typename F>
std::string ReplaceMatches(const std::string& text, const std::regex& find, const F& make) {
  std::string out;
  size_t done = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), find), end; it != end; ++it) {
    const auto begin = static_cast<size_t>(it->position());
    out.append(text, done, begin - done).append(make(*it));
    done = begin + static_cast<size_t>(it->length());
  }
  return out.append(text, done);
}

// <now-30s>, <local-2h>, <unix-5m> as the time that they mean.
Json Dated(const Json& value, WallTime now) {
  static const std::regex kRelative("<(now|local|unix)(?:([+-][0-9]+)([smh]))?>");
  return MapTexts(value, [now](const std::string& text) {
    return ReplaceMatches(text, kRelative, [now](const std::smatch& match) {
      const int64_t unit = match[3] == "h" ? 3600 : match[3] == "m" ? 60 : 1;
      const int64_t amount = match[2].matched ? *ParseInt64(match[2].str()) : 0;
      const WallTime at = now + std::chrono::seconds(amount * unit);
      if (match[1] == "unix") return FormatUnixSeconds(at);
      return match[1] == "now" ? FormatRfc3339(at) : FormatHandshakeTime(at);
    });
  });
}

// Times as <time>. Whole numbers only if they are seconds or nanoseconds within a
// day of now.
Json WithoutTimes(const Json& value, WallTime now) {
  static const std::regex kTimes(
      "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})"
      "|[0-9]{4}[.-][0-9]{2}[.-][0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}"
      "|[0-9.]+");
  const int64_t today = *ParseInt64(FormatUnixSeconds(now));
  return MapTexts(value, [today](const std::string& text) {
    return ReplaceMatches(text, kTimes, [today](const std::smatch& match) -> std::string {
      const std::string found = match.str();
      if (found.find_first_not_of("0123456789.") != found.npos) return "<time>";
      const bool plain =
          found.find('.') == found.npos && (found.size() == 10 || found.size() == 19);
      if (!plain || std::abs(*ParseInt64(found.substr(0, 10)) - today) > 86400) return found;
      return "<time>";
    });
  });
}

// ----------------------------------------------------------------- comparison

bool Empty(const Json& value) {
  return value.is_null() || (value.is_structured() && value.empty());
}

// Differences between a want and an observation, as readable lines.
void Compare(const Json& want, const Json& got, const std::string& path, std::string& lines) {
  const auto differ = [&](const std::string& place, const std::string& what, const Json& seen) {
    lines += "\n  " + place + ": want " + what + ", got " + seen.dump();
  };
  if (want.is_string() && want.get_ref<const std::string&>().starts_with('~')) {
    const std::string word = want.get<std::string>().substr(1);
    const std::string seen = got.is_string() ? got.get<std::string>() : got.dump();
    if (!Contains(seen, word)) differ(path, "something with " + Json(word).dump(), got);
    return;
  }
  if (Empty(want) && Empty(got)) return;
  if (!want.is_object() || !got.is_object()) {
    if (want != got) differ(path, want.dump(), got);
    return;
  }
  for (const auto& [key, value] : want.items()) {
    Compare(value, got.value(key, Json()), path.empty() ? key : path + "." + key, lines);
  }
  for (const auto& [key, value] : got.items()) {
    // What a step's want does not name is not compared; nor need times be named
    // that are annotations.
    const bool a_time = path == "annotations" && value == "<time>";
    if (!want.contains(key) && !path.empty() && !a_time) differ(path + "." + key, "nothing", value);
  }
}

// -------------------------------------------------------------------- objects

struct KindInfo {
  std::string api_version, root, plural;
  bool namespaced;
};

const KindInfo& KindOf(const std::string& kind) {
  static const std::map<std::string, KindInfo> kKinds = {
      {"Pod", {"v1", "/api/v1", "pods", true}},
      {"Node", {"v1", "/api/v1", "nodes", false}},
      {"ResourceQuota", {"v1", "/api/v1", "resourcequotas", true}},
      {"Namespace", {"v1", "/api/v1", "namespaces", false}},
      {"Lease", {"coordination.k8s.io/v1", "/apis/coordination.k8s.io/v1", "leases", true}}};
  const auto it = kKinds.find(kind);
  if (it == kKinds.end()) throw Broken("unknown kind " + kind);
  return it->second;
}

std::string PathOf(const std::string& kind, const std::string& name, const std::string& ns) {
  const KindInfo& info = KindOf(kind);
  return info.root + (info.namespaced ? "/namespaces/" + ns : "") + "/" + info.plural +
         (name.empty() ? "" : "/" + name);
}

// Of 'pods/ns/name[/status]', 'nodes/name[/status]'.
std::string PathOfReference(const std::string& reference) {
  const size_t slash = reference.find('/');
  const std::string plural = reference.substr(0, slash), rest = reference.substr(slash + 1);
  for (const char* kind : {"Pod", "Node", "ResourceQuota", "Namespace", "Lease"}) {
    if (KindOf(kind).plural != plural) continue;
    if (!KindOf(kind).namespaced) return PathOf(kind, rest, "");
    const size_t second = rest.find('/');
    return PathOf(kind, rest.substr(second + 1), rest.substr(0, second));
  }
  throw Broken("unknown kind of object in " + reference);
}

std::string NamespaceOf(const Json& object) {
  return object["metadata"].value("namespace", "default");
}

void Default(Json& object, const char* key, Json value) {
  if (!object.contains(key)) object[key] = std::move(value);
}

// With the name that a container has where the case gives it none.
template <typename Visit>
void ForEachContainer(Json& pod, const Visit& visit) {
  for (const auto& [list, letter] : {std::pair("initContainers", "i"), {"containers", "c"}}) {
    if (!pod.contains("spec") || !pod["spec"].contains(list)) continue;
    int index = 0;
    for (Json& container : pod["spec"][list]) visit(container, letter + std::to_string(index++));
  }
}

void NameContainers(Json& pod) {
  ForEachContainer(pod, [](Json& container, const std::string& name) {
    Default(container, "name", name);
    Default(container, "image", kImage);
  });
}

// With what cases may leave out.
Json Complete(Json object) {
  Default(object, "kind", "Pod");
  const std::string kind = object["kind"];
  Default(object, "apiVersion", KindOf(kind).api_version);
  Default(object, "metadata", Json::object());
  if (kind != "Pod") return object;
  Default(object["metadata"], "namespace", "default");
  Default(object, "spec", Json::object());
  Default(object["spec"], "schedulerName", "hami-scheduler");
  NameContainers(object);
  return object;
}

// ------------------------------------------------------------- pods of reviews

// The quantity as a plain number where it is a whole one.
Json PlainQuantity(const Json& quantity) {
  const std::string text = quantity.is_string() ? quantity.get<std::string>() : quantity.dump();
  const std::optional<Quantity> parsed = Quantity::Parse(text);
  return parsed && parsed->AsInt64() ? std::to_string(*parsed->AsInt64()) : text;
}

Json WithPlainQuantities(Json value) {
  if (!value.is_structured()) return value;
  for (const auto& [key, item] : value.items()) {
    const bool quantities = value.is_object() && (key == "limits" || key == "requests");
    if (!quantities || !item.is_object()) {
      item = WithPlainQuantities(item);
      continue;
    }
    for (Json& quantity : item)
      if (!quantity.is_null()) quantity = PlainQuantity(quantity);
  }
  return value;
}

// Without keys that hold nothing.
Json WithoutEmpties(const Json& value) {
  if (!value.is_structured()) return value;
  Json kept = value.is_array() ? Json::array() : Json::object();
  for (const auto& [key, item] : value.items()) {
    const Json inner = WithoutEmpties(item);
    if (value.is_array())
      kept.push_back(inner);
    else if (!Empty(inner) && inner != "")
      kept[key] = inner;
  }
  return kept;
}

// In the form in which they are compared.
Json Tidy(Json pod) {
  ForEachContainer(pod, [](Json& container, const std::string& name) {
    if (container.value("name", Json()) == name) container.erase("name");
    if (container.value("image", Json()) == kImage) container.erase("image");
  });
  return WithPlainQuantities(WithoutEmpties(pod));
}

// The merge patch from the one to the other; null if they are equal.
Json Difference(const Json& from, const Json& to) {
  if (!from.is_object() || !to.is_object()) return from == to ? Json() : to;
  Json patch;
  for (const auto& [key, value] : from.items())
    if (!to.contains(key)) patch[key] = nullptr;
  for (const auto& [key, value] : to.items())
    if (!from.contains(key))
      patch[key] = value;
    else if (from[key] != value)
      patch[key] = Difference(from[key], value);
  return patch;
}

// --------------------------------------------------------------------- daemon

// The daemon as `aliquot serve` has it, on a client of the cluster.
class Daemon {
 public:
  Daemon(cluster::Cluster& cluster, const Clock& clock, const Json& test,
         const ChangeVendors& change)
      : client_(cluster), registry_(vendors::MakeRegistry({})) {
    std::vector<std::string> args = test.value("flags", std::vector<std::string>());
    args.insert(args.begin(), "--scheduler-name=hami-scheduler");
    const Result<config::ServeFlags> flags = config::ParseServeFlags(args);
    if (!flags) throw Broken(flags.error().message);
    const fs::path file =
        kHome / "device-configs" / (test.value("device-config", "default") + ".yaml");
    const Result<config::DeviceConfig> devices = config::LoadDeviceConfig(file);
    if (!devices) throw Broken(devices.error().message);
    registry_ = vendors::MakeRegistry(cli::VendorConfigs(*flags, *devices));
    if (change) registry_ = change(registry_);

    std::string lock_expiry;
    const Json environment = test.value("env", Json::object());
    for (const auto& [name, value] : environment.items()) {
      if (name == "HAMI_NODELOCK_EXPIRE")
        lock_expiry = value;
      else if (name == "TZ")
        zone_.emplace(value);
      else
        throw Broken("only run.py can set " + name);
    }
    daemon_ =
        std::make_unique<cli::Daemon>(cli::ApiServer{client_, client_}, registry_, *flags,
                                      lock_expiry.empty() ? nullptr : lock_expiry.c_str(), clock);
    daemon_->Start();
  }

  ~Daemon() {
    if (!daemon_) return;
    daemon_->Drain();
    client_.Shutdown();
    daemon_->Stop();
  }

  Json Filter(const Json& body) {
    const Result<scheduler::FilterRequest> request = server::ParseFilterRequest(body.dump());
    if (!request) return {{"Error", request.error().message}};
    return Json::parse(server::ToJson(daemon_->scheduler().Filter(*request, Context()), *request));
  }
  Json Bind(const Json& body) {
    const Result<scheduler::BindRequest> request = server::ParseBindRequest(body.dump());
    if (!request) return {{"Error", request.error().message}};
    return Json::parse(server::ToJson(daemon_->scheduler().Bind(*request, Context())));
  }
  Json Review(const Json& body) {
    return Json::parse(server::AnswerReview(daemon_->scheduler(), "application/json", body.dump()));
  }
  std::string Scrape() {
    MetricsText text;
    daemon_->WriteMetrics(text);
    return text.Take();
  }

 private:
  static scheduler::RequestContext Context() {
    return {std::chrono::steady_clock::now(), [] { return false; }};
  }

  std::optional<testing::Zone> zone_;
  cluster::LocalClient client_;
  core::Registry registry_;
  std::unique_ptr<cli::Daemon> daemon_;
};

// ----------------------------------------------------------------------- walk

class Walk {
 public:
  Walk(const Json& test, const ChangeVendors& change) {
    const Json given = Dated(test.value("given", Json::object()), clock_.Now());
    for (const Json& ns : given.value("namespaces", Json::array())) {
      Json thing = ns.is_string() ? Json{{"metadata", {{"name", ns}}}} : ns;
      thing["kind"] = "Namespace";
      Create(thing);
    }
    for (const char* kind : {"Node", "ResourceQuota", "Lease", "Pod"}) {
      for (Json thing : given.value(KindOf(kind).plural, Json::array())) {
        Default(thing, "kind", kind);
        if (thing["kind"] == "Pod") NotePod(thing);
        Create(thing);
      }
    }
    daemon_ = std::make_unique<Daemon>(cluster_, clock_, test, change);
  }

  // What can be observed of the step.
  Json Step(const Json& step) {
    Settle();
    const Json before = NodeAnnotations();
    Json seen = Act(step);
    const Json want = step.value("want", Json::object());
    if (Json changed = AwaitNodeAnnotations(before, want.value("node-annotations", Json()));
        !changed.empty()) {
      seen["node-annotations"] = std::move(changed);
    }
    seen = MapTexts(seen, [this](std::string text) {
      for (const auto& [uid, name] : uids_) text = Replaced(std::move(text), uid, name);
      return text;
    });
    return WithoutTimes(seen, clock_.Now());
  }

  // Of the metrics, once the caches have seen everything.
  std::string Scrape() {
    Settle();
    return daemon_->Scrape();
  }

  Json Want(const Json& step) const {
    const WallTime now = clock_.Now();
    return WithPlainQuantities(WithoutTimes(Dated(step.value("want", Json::object()), now), now));
  }

 private:
  Json Act(const Json& step) {
    const auto argument = [&](const char* verb) { return Dated(step[verb], clock_.Now()); };
    if (step.contains("filter")) return Filter(argument("filter"));
    if (step.contains("bind")) return Bind(argument("bind"));
    if (step.contains("webhook")) return Webhook(argument("webhook"));
    if (step.contains("apply")) {
      Apply(argument("apply"));
    } else if (step.contains("patch")) {
      Patch(argument("patch"));
    } else if (step.contains("delete")) {
      Must("DELETE", PathOfReference(argument("delete")) + "?gracePeriodSeconds=0");
    } else if (step.contains("wait")) {
      clock_.Advance(
          std::chrono::milliseconds(static_cast<int64_t>(step["wait"].get<double>() * 1000)));
      cluster_.Tick();
    } else {
      throw Broken("a step without a verb: " + step.dump());
    }
    return Json::object();
  }

  // Until the caches have seen everything.
  void Settle() {
    if (!cluster_.WaitForWatches(kCaches, Patience())) throw Broken("the caches do not follow");
  }

  // ------------------------------------------------------------- API server

  Json Must(const std::string& method, const std::string& target, const Json& body = {}) {
    Result<std::string> answer = client_.Call(method, target, body.is_null() ? "" : body.dump());
    if (!answer) throw Broken(method + " " + target + ": " + answer.error().message);
    return Json::parse(*answer);
  }
  Json Get(const std::string& target) {
    const Result<std::string> answer = client_.Call("GET", target);
    return answer ? Json::parse(*answer) : Json();
  }

  Json Create(const Json& given) {
    Json thing = Complete(given);
    const std::string kind = thing["kind"], ns = NamespaceOf(thing);
    if (KindOf(kind).namespaced && Get(PathOf("Namespace", ns, "")).is_null()) {
      Must("POST", PathOf("Namespace", "", ""), {{"metadata", {{"name", ns}}}});
    }
    Json& meta = thing["metadata"];
    const bool terminating = !meta.value("deletionTimestamp", Json()).is_null();
    meta.erase("deletionTimestamp");
    if (terminating) meta["finalizers"] = {kHold};
    Json stored = Must("POST", PathOf(kind, "", ns), thing);
    const std::string name = stored["metadata"]["name"];
    uids_[stored["metadata"]["uid"]] = "<uid of " + name + ">";
    const std::string path = PathOf(kind, name, ns);
    if ((kind == "Pod" || kind == "ResourceQuota") && !Empty(thing.value("status", Json()))) {
      stored = Must("PATCH", path + "/status", {{"status", thing["status"]}});
    }
    if (terminating) stored = Must("DELETE", path + "?gracePeriodSeconds=0");
    return stored;
  }

  void Apply(const Json& what) {
    Json thing = what.value("object", what);
    Default(thing, "kind", "Pod");
    const std::string kind = thing["kind"];
    if (kind == "Pod") NotePod(thing);
    const std::string path = PathOf(kind, thing["metadata"]["name"], NamespaceOf(thing));
    Json stored = Get(path);
    if (stored.is_null()) {
      Create(thing);
      return;
    }
    thing = Complete(thing);
    thing["metadata"]["resourceVersion"] = stored["metadata"]["resourceVersion"];
    if (kind == "Pod") thing["spec"] = stored["spec"];
    stored = Must("PUT", path, thing);
    if (thing.contains("status") && kind != "Lease") {
      stored["status"] = thing["status"];
      Must("PUT", path + "/status", stored);
    }
  }

  void Patch(const Json& what) {
    const std::string path = PathOfReference(what["object"]);
    Must("PATCH", path, what["merge"]);
    if (const auto it = created_with_.find(path); it != created_with_.end()) {
      const Json meta = what["merge"].value("metadata", Json::object());
      it->second.update(meta.value("annotations", Json::object()));
    }
  }

  // ------------------------------------------------------------------- pods

  static std::string PodPath(const Json& pod) {
    if (pod.is_object()) return PathOf("Pod", pod["metadata"]["name"], NamespaceOf(pod));
    const std::string text = pod;
    const size_t slash = text.find('/');
    if (slash == text.npos) return PathOf("Pod", text, "default");
    return PathOf("Pod", text.substr(slash + 1), text.substr(0, slash));
  }

  // The annotations that it is created with are not compared.
  void NotePod(const Json& pod) {
    const Json annotations = pod["metadata"].value("annotations", Json());
    created_with_[PodPath(pod)] = annotations.is_null() ? Json::object() : annotations;
  }

  Json StoredPod(const Json& pod) {
    Json stored = Get(PodPath(pod));
    if (!stored.is_null()) return stored;
    if (!pod.is_object()) throw Broken("no pod " + pod.dump());
    NotePod(pod);
    return Create(pod);
  }

  Json NewAnnotations(const std::string& path) {
    const Json pod = Get(path);
    if (pod.is_null()) return nullptr;
    Json annotations = pod["metadata"].value("annotations", Json::object());
    for (const auto& [key, value] : created_with_[path].items()) {
      if (annotations.contains(key) && annotations[key] == value) annotations.erase(key);
    }
    return annotations;
  }

  // node -> annotations
  Json NodeAnnotations() {
    Json all = Json::object();
    const Json list = Must("GET", PathOf("Node", "", ""));
    for (const Json& node : list["items"]) {
      const Json& meta = node["metadata"];
      all[meta["name"].get<std::string>()] = meta.value("annotations", Json::object());
    }
    return all;
  }

  // Handshakes are written in the background: a step that asks for them gets them a moment
  // later.
  Json AwaitNodeAnnotations(const Json& before, const Json& asked) {
    const auto plain = [this](const Json& texts) {
      const WallTime now = clock_.Now();
      return WithoutTimes(Dated(texts, now), now);
    };
    const auto end = std::chrono::steady_clock::now() + kBackground;
    for (;;) {
      Json changed = ChangedNodeAnnotations(before, asked);
      if (Empty(asked) || plain(changed) == plain(asked) || std::chrono::steady_clock::now() > end)
        return changed;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // Those asked for; without a question the locks that changed.
  Json ChangedNodeAnnotations(const Json& before, const Json& asked) {
    const Json after = NodeAnnotations();
    const auto at = [](const Json& all, const std::string& node, const std::string& key) {
      return all.value(node, Json::object()).value(key, Json());
    };
    Json changed = Json::object();
    if (!Empty(asked)) {
      for (const auto& [node, keys] : asked.items()) {
        for (const auto& [key, value] : keys.items()) changed[node][key] = at(after, node, key);
      }
      return changed;
    }
    for (const Json* all : {&before, &after}) {
      for (const auto& [node, annotations] : all->items()) {
        for (const auto& [key, value] : annotations.items()) {
          if (!key.ends_with(".lock")) continue;
          const Json now = at(after, node, key);
          if (now != at(before, node, key)) changed[node][key] = now;
        }
      }
    }
    return changed;
  }

  // ---------------------------------------------------------------- requests

  Json Filter(const Json& what) {
    const bool stored = what.value("stored", true);
    const Json pod = stored ? StoredPod(what["pod"]) : Complete(what["pod"]);
    Json body = {{"Pod", pod}, {"Nodes", nullptr}, {"NodeNames", what.value("nodes", Json())}};
    const bool simulation = what.contains("node-objects");
    if (simulation) {
      Json items = Json::array();
      for (const Json& node : what["node-objects"]) items.push_back(NodeObject(node));
      body["Nodes"] = {{"apiVersion", "v1"},
                       {"kind", "NodeList"},
                       {"metadata", Json::object()},
                       {"items", items}};
    }
    const Json answer = daemon_->Filter(body);
    Json seen = {{"nodes", answer.value("NodeNames", Json())},
                 {"failed", answer.value("FailedNodes", Json())},
                 {"error", answer.value("Error", "")}};
    if (const Json unresolvable = answer.value("FailedAndUnresolvableNodes", Json());
        !Empty(unresolvable)) {
      seen["unresolvable"] = unresolvable;
    }
    if (simulation) {
      seen["node-objects"] = nullptr;
      const Json nodes = answer.value("Nodes", Json());
      if (nodes.is_object() && nodes["items"].is_array()) {
        seen["node-objects"] = Json::array();
        for (const Json& node : nodes["items"]) {
          seen["node-objects"].push_back(node["metadata"]["name"]);
        }
      }
    }
    if (stored) seen["annotations"] = NewAnnotations(PodPath(what["pod"]));
    return seen;
  }

  Json NodeObject(Json node) {
    if (node.is_string()) return Must("GET", PathOf("Node", node, ""));
    Default(node, "kind", "Node");
    return Complete(node);
  }

  Json Bind(const Json& what) {
    const std::string path = PodPath(what["pod"]);
    const Json stored = Get(path);
    const std::vector<std::string_view> parts = Split(path, '/');  // /api/v1/namespaces/ns/pods/p
    const std::string uid = stored.is_null() ? "" : stored["metadata"]["uid"].get<std::string>();
    const Json answer = daemon_->Bind({{"PodName", parts[6]},
                                       {"PodNamespace", parts[4]},
                                       {"PodUID", what.value("uid", uid)},
                                       {"Node", what["node"]}});
    const Json after = Get(path);
    const Json spec = after.is_null() ? Json::object() : after["spec"];
    return {{"error", answer.value("Error", "")},
            {"annotations", NewAnnotations(path)},
            {"bound-to", spec.value("nodeName", Json())}};
  }

  // The pod is sent as it is written.
  Json Webhook(const Json& what) {
    Json pod = what["pod"];
    Default(pod, "apiVersion", "v1");
    Default(pod, "kind", "Pod");
    Default(pod, "metadata", Json::object());
    Default(pod["metadata"], "namespace", "default");
    NameContainers(pod);
    Json request = {{"uid", "5a5a0c4e-0000-4000-8000-000000000001"},
                    {"kind", {{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
                    {"resource", {{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
                    {"name", pod["metadata"].value("name", "")},
                    {"namespace", pod["metadata"]["namespace"]},
                    {"operation", "CREATE"},
                    {"userInfo", {{"username", "conformance"}}},
                    {"object", pod},
                    {"oldObject", nullptr},
                    {"dryRun", false}};
    request.update(what.value("request", Json::object()));
    const Json response = Review(request);
    Json patched = pod;
    if (response.contains("patch")) {
      patched = Patched(pod, response);
      // The API server may call again for a pod that we have patched.
      request["object"] = patched;
      if (const Json again = Review(request); again.contains("patch"))
        throw Broken("the webhook changes what it has made: " +
                     Difference(patched, Patched(patched, again)).dump());
    }
    return {{"allowed", response["allowed"]},
            {"code", response["status"]["code"]},
            {"message", response["status"].value("message", "")},
            {"pod", Difference(Tidy(pod), Tidy(patched))}};
  }

  Json Review(const Json& request) {
    return daemon_->Review({{"apiVersion", "admission.k8s.io/v1"},
                            {"kind", "AdmissionReview"},
                            {"request", request}})["response"];
  }
  static Json Patched(const Json& pod, const Json& response) {
    return pod.patch(Json::parse(*DecodeBase64(response["patch"].get<std::string>())));
  }

  ShiftedClock clock_;
  cluster::Cluster cluster_{{}, clock_};
  cluster::LocalClient client_{cluster_};
  std::map<std::string, std::string> uids_;   // UID -> <uid of name>
  std::map<std::string, Json> created_with_;  // pod's path -> annotations
  std::unique_ptr<Daemon> daemon_;
};

// ------------------------------------------------------------------- scrapes

// Series, and `# TYPE` lines, with their value; a series that is there twice is marked.
using Series = std::map<std::string, std::string>;

// Without help, names of our own and what differs from build to build.
Series SeriesOf(const std::string& scrape) {
  static const std::regex kLabelValue("=\"[^\"]*\"");
  Series series;
  std::istringstream lines(scrape);
  for (std::string line; std::getline(lines, line);) {
    const bool type = line.starts_with("# TYPE ");
    if (line.empty() || line.starts_with("# HELP ") ||
        std::string_view(line).substr(type ? 7 : 0).starts_with("aliquot_"))
      continue;
    if (line.starts_with("hami_build_info{"))
      line = std::regex_replace(line, kLabelValue, "=\"<any>\"");
    const size_t end = type ? line.size() : line.rfind(' ');
    const std::string name = line.substr(0, end);
    if (!series.emplace(name, type ? "" : line.substr(end + 1)).second)
      series.emplace("twice: " + name, "");
  }
  return series;
}

// Readable lines: - only wanted, + only got, ~ another value. Values are compared as
// texts: they are written in one way.
std::string Difference(const Series& want, const Series& got) {
  std::string lines;
  for (const auto& [name, value] : want) {
    const auto at = got.find(name);
    if (at == got.end())
      lines += "\n- " + name + " " + value;
    else if (at->second != value)
      lines += "\n~ " + name + " want " + value + ", got " + at->second;
  }
  for (const auto& [name, value] : got)
    if (!want.contains(name)) lines += "\n+ " + name + " " + value;
  return lines;
}

}  // namespace

std::vector<std::string> CaseNames() {
  std::vector<std::string> names;
  for (const std::string& group : Groups()) {
    const fs::path folder = kHome / "cases" / group;
    if (!fs::is_directory(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".json") continue;
      names.push_back(fs::relative(entry.path(), kHome / "cases").replace_extension().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool IsPending(const std::string& name) {
  std::istringstream lines(ReadFile(kHome / "pending.txt"));
  for (std::string line; std::getline(lines, line);) {
    if (Trim(std::string_view(line).substr(0, line.find('#'))) == name) return true;
  }
  return false;
}

Json ReadCase(const std::string& name) {
  return Json::parse(ReadFile(kHome / "cases" / (name + ".json")));
}

std::vector<std::string> MetricsCaseNames() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kHome / "metrics"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

Json ReadMetricsCase(const std::string& name) {
  return Json::parse(ReadFile(kHome / "metrics" / (name + ".json")));
}

std::string Play(const Json& test, const ChangeVendors& change) {
  std::string lines;
  try {
    Walk walk(test, change);
    int number = 0;
    for (const Json& step : test["steps"]) {
      const Json seen = walk.Step(step);
      std::string differences;
      Compare(walk.Want(step), seen, "", differences);
      ++number;
      if (!differences.empty()) lines += "\nstep " + std::to_string(number) + ":" + differences;
    }
    if (test.contains("metrics"))
      lines += Difference(SeriesOf(ReadFile(kHome / "metrics" / test["metrics"])),
                          SeriesOf(walk.Scrape()));
  } catch (const Broken& problem) {
    lines += std::string("\nbroken: ") + problem.what();
  } catch (const Json::exception& problem) {
    lines += std::string("\nbroken: ") + problem.what();
  }
  return lines;
}

core::Registry DefaultVendors() {
  const std::vector<std::string> args = {"--enable-ascend", "--enable-iluvatar"};
  const auto flags = config::ParseServeFlags(args);
  const auto devices = config::LoadDeviceConfig(kHome / "device-configs/default.yaml");
  return vendors::MakeRegistry(cli::VendorConfigs(*flags, *devices));
}

}  // namespace aliquot::conformance
