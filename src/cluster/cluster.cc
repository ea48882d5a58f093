#include "aliquot/cluster/cluster.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "aliquot/base/mutex.h"
#include "aliquot/base/strings.h"
#include "cluster/patch.h"
#include "cluster/rest.h"

namespace aliquot::cluster {
namespace {

constexpr size_t kLargestBody = 3 << 20;
constexpr std::chrono::minutes kShortestWatch{30};  // without timeoutSeconds: up to twice this
constexpr std::chrono::minutes kBookmarkEvery{1};
constexpr std::chrono::seconds kLastBookmark{2};  // before the end

// What a request wants.
struct Call {
  std::string verb;
  Place place;
  Query query;
};

std::string_view Param(const Query& query, std::string_view name) {
  const auto it = query.find(name);
  return it == query.end() ? std::string_view() : it->second;
}

bool Flag(const Query& query, std::string_view name) {
  return ParseBool(Param(query, name)).value_or(false);
}

// The verb as in RBAC rules; empty: not allowed here.
std::string VerbOf(std::string_view method, const Place& place, const Query& query) {
  const bool collection = place.name.empty();
  if (place.subresource == "binding") return method == "POST" ? "create" : "";
  if (place.subresource == "finalize") return method == "PUT" ? "update" : "";
  if (method == "GET" && collection) return Flag(query, "watch") ? "watch" : "list";
  if (method == "GET") return "get";
  if (method == "PUT" && !collection) return "update";
  if (method == "PATCH" && !collection) return "patch";
  if (method == "DELETE" && !collection && place.subresource.empty()) return "delete";
  const bool has_home = !place.resource->namespaced || !place.ns.empty();
  if (method == "POST" && collection && has_home) return "create";
  return "";
}

Response ErrorResponse(const ApiError& error) {
  return {error.code, "application/json", error.ToText(), 0, Response::Delivery::kWhole, nullptr};
}

Response NothingDone() {
  Response response;
  response.status = 0;
  response.delivery = Response::Delivery::kNothing;
  return response;
}

// No type is JSON.
bool IsJson(std::string_view content_type) {
  const std::string_view type = Trim(content_type.substr(0, content_type.find(';')));
  return type.empty() || type == "application/json";
}

SteadyTime MachineNow() { return std::chrono::steady_clock::now(); }

}  // namespace

// -------------------------------------------------------------------- watches

// Reads the history from its place on. Lives as long as somebody watches.
class Cluster::OpenWatch : public Watch {
 public:
  OpenWatch(Impl& impl, Place place, Selector selector);
  ~OpenWatch() override;

  // Both with the cluster's mutex held, before the first Next. Begin enters it
  // among the cluster's watches unless it is refused.
  std::optional<ApiError> Begin(const Query& query, uint64_t seed);
  void CutAfter(int whole_lines) { lines_left_ = whole_lines; }

  // With the mutex held: everything is delivered, and more was asked for.
  bool Quiet() const;

  Piece Next(const std::stop_token& stop) override { return *NextUntil(stop, SteadyTime::max()); }
  std::optional<Piece> NextUntil(const std::stop_token& stop, SteadyTime until) override;

 private:
  std::optional<Piece> Step();
  Piece Line(std::string_view type, const std::string& object);
  std::string Bookmark(bool initial_end) const;
  const Change* NextChange() const;

  Impl& impl_;
  const Place place_;
  const Selector selector_;
  uint64_t version_ = 0;           // everything up to here has been looked at
  std::deque<ObjectPtr> initial_;  // to be told as ADDED first
  bool initial_bookmark_ = false;
  bool bookmarks_ = false;
  SteadyTime next_bookmark_;
  SteadyTime end_;
  std::optional<int> lines_left_;  // then the connection breaks
  bool waiting_ = false;
  bool entered_ = false;  // among the cluster's watches
  bool ended_ = false;
};

// ------------------------------------------------------------------- the core

struct Cluster::Impl {
  const Clock& clock;
  mutable Mutex mutex;
  CondVar changed;  // an object, the time, a fault, a stop
  CondVar quiet;    // a watch has nothing left; a fault has hit
  Rest rest;
  std::mt19937_64 random;
  std::set<OpenWatch*> watches;

  struct ActiveFault {
    Fault fault;
    int hits = 0;
    bool removed = false;
  };
  std::map<FaultId, std::shared_ptr<ActiveFault>> faults;
  FaultId next_fault = 1;

  Impl(const Options& options, const Clock& clk)
      : clock(clk), rest(options.seed, options.history_per_kind, clk), random(~options.seed) {}

  // Waits for a change, at most until `until` by the cluster's clock and
  // `deadline` by the machine's.
  void Wait(SteadyTime until, SteadyTime deadline) REQUIRES_LOCK(mutex) {
    SteadyTime wake = deadline;
    if (until != SteadyTime::max()) {
      wake = std::min(wake, MachineNow() + (until - clock.Steady()));
    }
    if (wake == SteadyTime::max()) {
      changed.Wait(mutex);
    } else {
      changed.WaitUntil(mutex, wake);
    }
  }

  std::shared_ptr<ActiveFault> TakeFault(const Call& call) REQUIRES_LOCK(mutex);
  bool Suffer(ActiveFault& active, const std::stop_token& stop, SteadyTime deadline)
      REQUIRES_LOCK(mutex);
  Outcome<Response> Carry(const Call& call, const Request& request, Outcome<Json>& body,
                          const ActiveFault* active) REQUIRES_LOCK(mutex);
  Outcome<Response> StartWatch(const Call& call, const ActiveFault* active) REQUIRES_LOCK(mutex);
};

Cluster::Cluster(Options options, const Clock& clock)
    : impl_(std::make_unique<Impl>(options, clock)) {}
Cluster::~Cluster() = default;

std::shared_ptr<Cluster::Impl::ActiveFault> Cluster::Impl::TakeFault(const Call& call) {
  std::string resource(call.place.resource->plural);
  if (!call.place.subresource.empty()) resource += "/" + call.place.subresource;
  const auto concerns = [&](const Fault& fault) {
    return (fault.verb.empty() || fault.verb == call.verb) &&
           (fault.resource.empty() || fault.resource == resource) &&
           (fault.name.empty() || fault.name == call.place.name);
  };
  for (auto& [id, active] : faults) {
    Fault& fault = active->fault;
    if (!concerns(fault) || (fault.times > 0 && active->hits == fault.times)) continue;
    if (fault.skip > 0) {
      --fault.skip;
      continue;
    }
    ++active->hits;
    quiet.NotifyAll();
    return active;
  }
  return nullptr;
}

// False: the request was given up meanwhile.
bool Cluster::Impl::Suffer(ActiveFault& active, const std::stop_token& stop, SteadyTime deadline) {
  const SteadyTime until = clock.Steady() + active.fault.delay;
  const bool block = active.fault.block;
  while (!active.removed && (block || clock.Steady() < until)) {
    if (stop.stop_requested() || MachineNow() >= deadline) return false;
    Wait(block ? SteadyTime::max() : until, deadline);
  }
  return true;
}

Outcome<Response> Cluster::Impl::StartWatch(const Call& call, const ActiveFault* active) {
  Outcome<Selector> selector = Selector::Parse(
      *call.place.resource, Param(call.query, "labelSelector"), Param(call.query, "fieldSelector"));
  if (!selector) return selector.error();
  auto watch = std::make_unique<OpenWatch>(*this, call.place, std::move(*selector));
  if (auto error = watch->Begin(call.query, random())) return *error;
  if (active != nullptr && active->fault.effect == Fault::Effect::kCutAnswer) {
    watch->CutAfter(active->fault.whole_lines);
  }
  Response response;
  response.watch = std::move(watch);
  return response;
}

Outcome<Response> Cluster::Impl::Carry(const Call& call, const Request& request,
                                       Outcome<Json>& body, const ActiveFault* active) {
  if (call.verb == "watch") return StartWatch(call, active);
  const bool dry_run = Param(call.query, "dryRun") == "All";
  const uint64_t before = rest.store().version();
  Outcome<Rest::Answer> answer;
  if (call.verb == "get") {
    answer = rest.Get(call.place);
  } else if (call.verb == "list") {
    answer = rest.List(call.place, call.query);
  } else if (call.verb == "patch") {
    answer = rest.Patch(call.place, request.content_type, request.body, dry_run);
  } else if (!body) {
    return body.error();
  } else if (call.verb == "delete") {
    answer = rest.Delete(call.place, call.query, *body, dry_run);
  } else if (call.place.subresource == "binding") {
    answer = rest.Bind(call.place, *body, dry_run);
  } else if (call.place.subresource == "finalize") {
    answer = rest.Finalize(call.place);
  } else if (call.verb == "create") {
    answer = rest.Create(call.place, std::move(*body), dry_run);
  } else {
    answer = rest.Update(call.place, std::move(*body), dry_run);
  }
  if (rest.store().version() != before) changed.NotifyAll();
  if (!answer) return answer.error();
  Response response;
  response.status = answer->status;
  response.body = std::move(answer->body);
  return response;
}

Response Cluster::Handle(const Request& request, const std::stop_token& stop, SteadyTime deadline) {
  const Url url = ParseUrl(request.target);
  if (request.method == "GET") {
    if (auto found = Discover(url.path)) {
      Response response;
      if (!found->starts_with('{')) response.content_type = "text/plain";
      response.body = std::move(*found);
      return response;
    }
  }
  const std::optional<Place> place = FindPlace(url.path);
  if (!place) {
    if (!IsOfOurGroups(url.path)) {
      return {404, "text/plain", "404 page not found\n", 0, Response::Delivery::kWhole, nullptr};
    }
    return ErrorResponse(
        {404, "NotFound", "the server could not find the requested resource", Json::object()});
  }
  const Call call{VerbOf(request.method, *place, url.query), *place, url.query};
  if (call.verb.empty()) return ErrorResponse(MethodNotAllowed());
  if (request.body.size() > kLargestBody) {
    return ErrorResponse({413, "RequestEntityTooLarge",
                          "Request entity too large: limit is " + std::to_string(kLargestBody)});
  }
  const bool posts = request.method == "POST" || request.method == "PUT";
  if (posts && !IsJson(request.content_type)) {
    return ErrorResponse({415, "UnsupportedMediaType",
                          "the body of the request was in an unknown format - accepted media types "
                          "include: application/json"});
  }
  // Outside of the lock. A patch is read where it is applied.
  Outcome<Json> body = Json();
  const bool writes = call.verb == "create" || call.verb == "update";
  if (writes || (call.verb == "delete" && !request.body.empty())) body = ParseJson(request.body);

  const std::stop_callback wake(stop, [this] {
    MutexLock lock(impl_->mutex);
    impl_->changed.NotifyAll();
  });
  using Effect = Fault::Effect;
  Response response;
  Effect effect = Effect::kNone;
  {
    MutexLock lock(impl_->mutex);
    const auto active = impl_->TakeFault(call);
    if (active) {
      effect = active->fault.effect;
      if (!impl_->Suffer(*active, stop, deadline)) return NothingDone();
      if (effect == Effect::kRefuse) return NothingDone();
      if (effect == Effect::kAnswer) {
        response =
            ErrorResponse({active->fault.status, active->fault.reason, active->fault.message});
        response.retry_after = active->fault.retry_after;
        return response;
      }
    }
    // Fields that nothing here has looked at before may still be of a wrong type.
    try {
      Outcome<Response> carried = impl_->Carry(call, request, body, active.get());
      response = carried ? std::move(*carried) : ErrorResponse(carried.error());
    } catch (const Json::exception& problem) {
      response =
          ErrorResponse(BadRequest(std::string("the object cannot be read: ") + problem.what()));
    }
  }
  if (effect == Effect::kLoseAnswer) {
    response.watch.reset();
    response.delivery = Response::Delivery::kNothing;
  } else if (effect == Effect::kCutAnswer && !response.watch) {
    response.delivery = Response::Delivery::kHalf;
  }
  return response;
}

uint64_t Cluster::resource_version() const {
  MutexLock lock(impl_->mutex);
  return impl_->rest.store().version();
}

void Cluster::Compact() {
  MutexLock lock(impl_->mutex);
  impl_->rest.Compact();
  impl_->changed.NotifyAll();
}

void Cluster::Tick() {
  MutexLock lock(impl_->mutex);
  impl_->changed.NotifyAll();
}

Cluster::FaultId Cluster::AddFault(Fault fault) {
  MutexLock lock(impl_->mutex);
  const FaultId id = impl_->next_fault++;
  impl_->faults[id] = std::make_shared<Impl::ActiveFault>(Impl::ActiveFault{std::move(fault)});
  return id;
}

void Cluster::RemoveFault(FaultId id) {
  MutexLock lock(impl_->mutex);
  const auto it = impl_->faults.find(id);
  if (it == impl_->faults.end()) return;
  it->second->removed = true;
  impl_->faults.erase(it);
  impl_->changed.NotifyAll();
}

bool Cluster::WaitForHits(FaultId id, int hits, SteadyTime deadline) {
  MutexLock lock(impl_->mutex);
  for (;;) {
    const auto it = impl_->faults.find(id);
    if (it != impl_->faults.end() && it->second->hits >= hits) return true;
    if (MachineNow() >= deadline) return false;
    impl_->quiet.WaitUntil(impl_->mutex, deadline);
  }
}

bool Cluster::WaitForWatches(size_t count, SteadyTime deadline) {
  MutexLock lock(impl_->mutex);
  const auto all_quiet = [this, count] {
    return impl_->watches.size() >= count &&
           std::all_of(impl_->watches.begin(), impl_->watches.end(),
                       [](const OpenWatch* watch) { return watch->Quiet(); });
  };
  while (!all_quiet()) {
    if (MachineNow() >= deadline) return false;
    impl_->quiet.WaitUntil(impl_->mutex, deadline);
  }
  return true;
}

size_t Cluster::open_watches() const {
  MutexLock lock(impl_->mutex);
  return impl_->watches.size();
}

bool Cluster::WaitForChange(uint64_t version, SteadyTime deadline) {
  MutexLock lock(impl_->mutex);
  while (impl_->rest.store().version() <= version) {
    if (MachineNow() >= deadline) return false;
    impl_->changed.WaitUntil(impl_->mutex, deadline);
  }
  return true;
}

// -------------------------------------------------------------------- watches

Cluster::OpenWatch::OpenWatch(Impl& impl, Place place, Selector selector)
    : impl_(impl), place_(std::move(place)), selector_(std::move(selector)) {}

Cluster::OpenWatch::~OpenWatch() {
  if (!entered_) return;  // it was refused
  MutexLock lock(impl_.mutex);
  impl_.watches.erase(this);
  impl_.quiet.NotifyAll();
}

std::optional<ApiError> Cluster::OpenWatch::Begin(const Query& query, uint64_t seed) {
  const Store& store = impl_.rest.store();
  const std::string asked(Param(query, "resourceVersion"));
  const bool initial_events = Flag(query, "sendInitialEvents");
  if (initial_events && Param(query, "resourceVersionMatch") != "NotOlderThan") {
    return InvalidOptions({"resourceVersionMatch",
                           "Forbidden: sendInitialEvents requires setting resourceVersionMatch to "
                           "NotOlderThan"});
  }
  const std::optional<int64_t> version = asked.empty() ? int64_t{0} : ParseInt64(asked);
  if (!version || *version < 0) {
    return ApiError{500, "",
                    "resourceVersion: Invalid value: \"" + asked +
                        "\": strconv.ParseUint: parsing \"" + asked + "\": invalid syntax"};
  }
  bookmarks_ = Flag(query, "allowWatchBookmarks");
  if (initial_events || *version == 0) {
    version_ = store.version();
    initial_bookmark_ = initial_events && bookmarks_;
    const std::string prefix = place_.ns.empty() ? "" : place_.ns + "/";
    const Objects& all = store.All(*place_.resource);
    for (auto it = all.lower_bound(prefix); it != all.end() && it->first.starts_with(prefix); ++it)
      if (selector_.Matches(it->second->value)) initial_.push_back(it->second);
  } else {
    version_ = static_cast<uint64_t>(*version);
  }
  const auto seconds = ParseInt64(Param(query, "timeoutSeconds")).value_or(0);
  const Duration longest = seconds > 0 ? std::chrono::seconds(seconds)
                                       : kShortestWatch + std::chrono::seconds(seed % 1800);
  const SteadyTime now = impl_.clock.Steady();
  end_ = now + longest;
  next_bookmark_ = std::min<SteadyTime>(now + kBookmarkEvery, std::max(now, end_ - kLastBookmark));
  impl_.watches.insert(this);
  entered_ = true;
  return std::nullopt;
}

const Change* Cluster::OpenWatch::NextChange() const {
  return impl_.rest.store().Next(*place_.resource, version_);
}

bool Cluster::OpenWatch::Quiet() const {
  return ended_ || (waiting_ && initial_.empty() && !initial_bookmark_ && NextChange() == nullptr);
}

Watch::Piece Cluster::OpenWatch::Line(std::string_view type, const std::string& object) {
  std::string text = "{\"type\":\"";
  text.append(type).append("\",\"object\":").append(object).append("}\n");
  if (lines_left_ && (*lines_left_)-- == 0) {
    ended_ = true;
    return {Piece::Kind::kCut, text.substr(0, text.size() / 2)};
  }
  return {Piece::Kind::kLine, std::move(text)};
}

std::string Cluster::OpenWatch::Bookmark(bool initial_end) const {
  Json meta = {{"resourceVersion", std::to_string(version_)}, {"creationTimestamp", nullptr}};
  if (initial_end) meta["annotations"] = {{"k8s.io/initial-events-end", "true"}};
  return Json{{"kind", place_.resource->kind_name},
              {"apiVersion", place_.resource->ApiVersion()},
              {"metadata", meta}}
      .dump();
}

// The next piece, if there is one now.
std::optional<Watch::Piece> Cluster::OpenWatch::Step() {
  const Store& store = impl_.rest.store();
  const Resource& resource = *place_.resource;
  if (!initial_.empty()) {
    const ObjectPtr object = std::move(initial_.front());
    initial_.pop_front();
    return Line("ADDED", FullText(resource, *object));
  }
  if (std::exchange(initial_bookmark_, false)) return Line("BOOKMARK", Bookmark(true));
  if (store.Forgotten(resource, version_)) {
    ended_ = true;
    return Line("ERROR", ApiError{410, "Expired",
                                  "too old resource version: " + std::to_string(version_) + " (" +
                                      std::to_string(store.version()) + ")"}
                             .ToText());
  }
  while (const Change* change = NextChange()) {
    version_ = change->version;
    if (!place_.ns.empty() && !change->key.starts_with(place_.ns + "/")) continue;
    const bool before = change->before && selector_.Matches(change->before->value);
    const bool after = change->after && selector_.Matches(change->after->value);
    if (after) return Line(before ? "MODIFIED" : "ADDED", FullText(resource, *change->after));
    // Left the selection or the cluster: its last state, with the version of its leaving.
    if (before) {
      return Line("DELETED", FullText(resource, *WithVersion(*change->before, change->version)));
    }
  }
  const SteadyTime now = impl_.clock.Steady();
  if (bookmarks_ && now >= next_bookmark_) {
    const SteadyTime last = end_ - kLastBookmark;
    next_bookmark_ =
        now >= last ? SteadyTime::max() : std::min<SteadyTime>(now + kBookmarkEvery, last);
    version_ = std::max(version_, store.version());
    return Line("BOOKMARK", Bookmark(false));
  }
  if (now >= end_) {
    ended_ = true;
    return Piece{Piece::Kind::kEnd, ""};
  }
  return std::nullopt;
}

std::optional<Watch::Piece> Cluster::OpenWatch::NextUntil(const std::stop_token& stop,
                                                          SteadyTime until) {
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(impl_.mutex);
    impl_.changed.NotifyAll();
  });
  MutexLock lock(impl_.mutex);
  for (;;) {
    if (ended_ || stop.stop_requested()) return Piece{Piece::Kind::kEnd, ""};
    if (std::optional<Piece> piece = Step()) {
      waiting_ = false;
      if (ended_) impl_.quiet.NotifyAll();
      return piece;
    }
    waiting_ = true;
    impl_.quiet.NotifyAll();
    if (MachineNow() >= until) return std::nullopt;
    impl_.Wait(std::min(end_, bookmarks_ ? next_bookmark_ : SteadyTime::max()), until);
  }
}

}  // namespace aliquot::cluster
