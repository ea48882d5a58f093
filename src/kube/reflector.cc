#include "aliquot/kube/reflector.h"

#include <algorithm>

#include "aliquot/base/log.h"
#include "aliquot/kube/http.h"
#include "aliquot/kube/parse.h"
#include "kube/stop.h"

namespace aliquot::kube {
namespace {

constexpr std::string_view kPageSize = "500";
constexpr std::chrono::milliseconds kFirstPause{800};
constexpr std::chrono::seconds kLongestPause{30};
constexpr std::chrono::seconds kForbiddenPause{30};
constexpr std::chrono::minutes kForgetFailures{2};
constexpr std::chrono::seconds kTooShort{1};  // for a watch without an event
constexpr int kMinWatchSeconds = 300, kMaxWatchSeconds = 600;
constexpr std::chrono::seconds kWatchGrace{30};  // the server is late: it is gone

template <typename T>
struct Resource;

template <>
struct Resource<Pod> {
  static constexpr std::string_view kApi = "/api/v1", kPlural = "pods";
  static Result<Pod> Parse(std::string_view json) { return ParsePod(json); }
};
template <>
struct Resource<Node> {
  static constexpr std::string_view kApi = "/api/v1", kPlural = "nodes";
  static Result<Node> Parse(std::string_view json) { return ParseNode(json); }
};
template <>
struct Resource<ResourceQuota> {
  static constexpr std::string_view kApi = "/api/v1", kPlural = "resourcequotas";
  static Result<ResourceQuota> Parse(std::string_view json) { return ParseResourceQuota(json); }
};
template <>
struct Resource<Lease> {
  static constexpr std::string_view kApi = "/apis/coordination.k8s.io/v1", kPlural = "leases";
  static Result<Lease> Parse(std::string_view json) { return ParseLease(json); }
};

template <typename T>
std::string PathOf(const std::string& ns) {
  std::string path(Resource<T>::kApi);
  if (!ns.empty()) path += "/namespaces/" + UrlEscape(ns);
  path += "/";
  path += Resource<T>::kPlural;
  return path;
}

std::string KeyOf(const ObjectMeta& meta) { return meta.ns + "/" + meta.name; }

// What is left of an object that could not be read: enough to know which.
Result<ObjectMeta> SkipUnreadable(const std::string& path, std::string_view json,
                                  const Error& error) {
  Result<ObjectMeta> meta = ParseMeta(json);
  log::Warn(
      "Could not read an object, what was known of it stays",
      {{"path", path}, {"object", meta ? Display(meta->Ref()) : "?"}, {"error", error.message}});
  return meta;
}

}  // namespace

template <typename T>
Reflector<T>::Reflector(ListWatcher& source, Store<T>& store, Observer<T>& observer,
                        ReflectorOptions options, const Clock& clock)
    : source_(source),
      store_(store),
      observer_(observer),
      options_(std::move(options)),
      path_(PathOf<T>(options_.ns)),
      clock_(clock),
      random_(options_.seed),
      poll_interval_(options_.poll_interval) {}

template <typename T>
Reflector<T>::~Reflector() {
  Stop();
}

template <typename T>
void Reflector<T>::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

template <typename T>
void Reflector<T>::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

template <typename T>
bool Reflector<T>::synced() const {
  MutexLock lock(mutex_);
  return synced_;
}

template <typename T>
typename Reflector<T>::Health Reflector<T>::health() const {
  MutexLock lock(mutex_);
  return health_;
}

template <typename T>
void Reflector<T>::SetPollInterval(Duration interval) {
  MutexLock lock(mutex_);
  poll_interval_ = interval;
  poll_changed_.NotifyAll();
}

template <typename T>
void Reflector<T>::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const SteadyTime asked = clock_.Steady();
    Result<Snapshot> snapshot = ListAll(stop);
    if (stop.stop_requested()) return;
    if (!snapshot) {
      Failed("list", snapshot.error());
      PauseAfterFailure(stop);
      continue;
    }
    std::string resource_version = snapshot->resource_version;
    Apply(std::move(*snapshot), asked);
    Progress();
    if (options_.poll) {
      PauseUntilPoll(stop);
    } else {
      WatchUntilListed(std::move(resource_version), stop);
    }
  }
}

template <typename T>
Result<typename Reflector<T>::Snapshot> Reflector<T>::ListAll(const std::stop_token& stop) {
  Snapshot snapshot;
  const std::string limit = paged_ ? "limit=" + std::string(kPageSize) : "";
  std::string continue_token;
  do {
    std::string query = limit;
    if (!continue_token.empty()) query += "&continue=" + UrlEscape(continue_token);
    Result<std::string> body = source_.List(Target(query), stop);
    if (!body) {
      // The pages grew too old while we read them; read all at once then.
      paged_ = body.error().code != ErrorCode::kGone;
      return body.error();
    }
    if (auto read = ReadPage(*body, snapshot, continue_token); !read) return read.error();
  } while (!continue_token.empty());
  paged_ = true;
  return snapshot;
}

template <typename T>
Result<void> Reflector<T>::ReadPage(std::string_view body, Snapshot& into,
                                    std::string& continue_token) {
  Result<ListPage> page = ParseListPage(body);
  if (!page) return page.error();
  for (const std::string_view item : page->items) {
    if (Result<T> object = Resource<T>::Parse(item)) {
      std::string key = KeyOf(object->meta);
      into.objects.insert_or_assign(std::move(key), std::make_shared<T>(std::move(*object)));
    } else if (auto meta = SkipUnreadable(path_, item, object.error())) {
      into.unreadable.insert(KeyOf(*meta));
    }
  }
  into.resource_version = std::move(page->resource_version);
  continue_token = std::move(page->continue_token);
  return {};
}

// What is gone goes first, so that nothing is counted twice on the way.
template <typename T>
void Reflector<T>::Apply(Snapshot snapshot, SteadyTime asked) {
  for (const Ptr& known : store_.List()) {
    const std::string key = KeyOf(known->meta);
    if (!snapshot.objects.contains(key) && !snapshot.unreadable.contains(key)) {
      Delete(known->meta.ns, known->meta.name);
    }
  }
  for (auto& [key, object] : snapshot.objects) Upsert(std::move(object));
  if (snapshot.unreadable.empty()) observer_.OnListed(asked);
  if (synced()) return;
  observer_.OnSynced();
  MutexLock lock(mutex_);
  synced_ = true;
}

// Watches until only a new list can help, and waits before that.
template <typename T>
void Reflector<T>::WatchUntilListed(std::string resource_version, const std::stop_token& stop) {
  for (bool failed_before = false;;) {
    const Next next = WatchOnce(resource_version, stop);
    if (stop.stop_requested()) return;
    if (next == Next::kWatch) {
      failed_before = false;
      continue;
    }
    PauseAfterFailure(stop);
    // A second failure in a row may come from the version we ask for.
    if (next == Next::kList || failed_before || stop.stop_requested()) return;
    failed_before = true;
  }
}

template <typename T>
typename Reflector<T>::Next Reflector<T>::WatchOnce(std::string& resource_version,
                                                    const std::stop_token& stop) {
  const int seconds =
      std::uniform_int_distribution<int>(kMinWatchSeconds, kMaxWatchSeconds)(random_);
  const std::string target =
      Target("watch=true&allowWatchBookmarks=true&timeoutSeconds=" + std::to_string(seconds) +
             "&resourceVersion=" + UrlEscape(resource_version));
  bool any = false;
  Result<void> handled;
  const auto on_line = [&](std::string_view line) {
    handled = HandleEvent(line, resource_version);
    if (!handled) return false;
    any = true;
    Progress();
    return true;
  };
  const SteadyTime started = clock_.Steady();
  Result<void> ended =
      source_.Watch(target, std::chrono::seconds(seconds) + kWatchGrace, on_line, stop);
  if (stop.stop_requested()) return Next::kList;
  if (ended && !handled) ended = handled.error();
  if (ended && !any && clock_.Steady() - started < kTooShort) {
    ended = Error{ErrorCode::kInvalid, "it ended at once and without an event"};
  }
  if (ended) {
    Progress();
    return Next::kWatch;
  }

  const ErrorCode code = ended.error().code;
  const bool transient = code == ErrorCode::kUnavailable || code == ErrorCode::kTooManyRequests;
  if (transient && any) return Next::kWatch;  // the stream broke, as streams do
  Failed("watch", ended.error());
  return transient ? Next::kWatchLater : Next::kList;
}

template <typename T>
Result<void> Reflector<T>::HandleEvent(std::string_view line, std::string& resource_version) {
  Result<WatchEvent> event = ParseWatchEvent(line);
  if (!event) return event.error();
  using Type = WatchEvent::Type;
  if (event->type == Type::kUnknown) return {};
  if (event->type == Type::kError) {
    Result<Status> status = ParseStatus(event->object);
    if (!status) return status.error();
    return Error{status->code == 410 ? ErrorCode::kGone : ErrorCode::kInvalid, status->message};
  }

  Result<ObjectMeta> meta = Error{};
  if (event->type == Type::kAdded || event->type == Type::kModified) {
    if (Result<T> object = Resource<T>::Parse(event->object)) {
      auto now = std::make_shared<T>(std::move(*object));
      Upsert(now);
      meta = now->meta;
    } else {
      meta = SkipUnreadable(path_, event->object, object.error());
    }
  } else {
    meta = ParseMeta(event->object);
    if (meta && event->type == Type::kDeleted) Delete(meta->ns, meta->name);
  }
  if (!meta) return meta.error();
  if (!meta->resource_version.empty()) resource_version = std::move(meta->resource_version);
  return {};
}

template <typename T>
void Reflector<T>::Upsert(Ptr now) {
  Ptr old = store_.Get(now->meta.ns, now->meta.name);
  if (old && old->meta.uid != now->meta.uid) {
    Delete(old->meta.ns, old->meta.name);
    old = nullptr;
  }
  if (old && old->meta.resource_version == now->meta.resource_version) return;
  store_.Put(now);
  observer_.OnUpsert(old, now);
}

template <typename T>
void Reflector<T>::Delete(std::string_view ns, std::string_view name) {
  if (const Ptr last = store_.Remove(ns, name)) observer_.OnDelete(last);
}

template <typename T>
void Reflector<T>::Progress() {
  const SteadyTime now = clock_.Steady();
  store_.SetTold(now);
  MutexLock lock(mutex_);
  health_.last_progress = now;
  health_.failure.clear();
}

template <typename T>
void Reflector<T>::Failed(std::string_view what, const Error& error) {
  if (error.code == ErrorCode::kCancelled) return;  // the client is shutting down
  const SteadyTime now = clock_.Steady();
  if (now - failed_at_ > kForgetFailures) failures_ = 0;
  ++failures_;
  failed_at_ = now;
  forbidden_ = error.code == ErrorCode::kForbidden || error.code == ErrorCode::kUnauthorized;
  const auto tell = forbidden_ ? log::Error : log::Warn;
  tell("Could not follow the API server",
       {{"path", path_}, {"step", what}, {"error", error.message}});
  MutexLock lock(mutex_);
  ++health_.failures;
  health_.failure = std::string(what) + " " + path_ + ": " + error.message;
}

// Doubles with each failure, times a random factor in [1, 2).
template <typename T>
void Reflector<T>::PauseAfterFailure(const std::stop_token& stop) {
  Duration pause = kFirstPause * (1 << std::clamp(failures_ - 1, 0, 6));
  pause = std::min<Duration>(pause, kLongestPause);
  if (forbidden_) pause = std::max<Duration>(pause, kForbiddenPause);
  const double factor = std::uniform_real_distribution<double>(1, 2)(random_);
  pause = std::chrono::duration_cast<Duration>(pause * factor);
  if (options_.sleep) {
    options_.sleep(pause, stop);
  } else {
    SleepFor(pause, stop);
  }
}

template <typename T>
void Reflector<T>::PauseUntilPoll(const std::stop_token& stop) {
  const SteadyTime started = std::chrono::steady_clock::now();
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(mutex_);
    poll_changed_.NotifyAll();
  });
  MutexLock lock(mutex_);
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < started + poll_interval_) {
    poll_changed_.WaitUntil(mutex_, started + poll_interval_);
  }
}

template <typename T>
std::string Reflector<T>::Target(const std::string& query) const {
  std::string target = path_;
  char separator = '?';
  for (const std::string& part : {query, options_.selectors}) {
    if (part.empty()) continue;
    target += separator + part;
    separator = '&';
  }
  return target;
}

template class Reflector<Pod>;
template class Reflector<Node>;
template class Reflector<ResourceQuota>;
template class Reflector<Lease>;

}  // namespace aliquot::kube
