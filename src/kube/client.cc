#include "aliquot/kube/client.h"

#include <algorithm>
#include <array>

#include "aliquot/base/mutex.h"
#include "aliquot/base/strings.h"
#include "aliquot/kube/http.h"
#include "aliquot/kube/parse.h"
#include "kube/connection.h"
#include "kube/credentials.h"
#include "kube/line_splitter.h"
#include "kube/rate_limiter.h"
#include "kube/stop.h"

namespace aliquot::kube {
namespace {

constexpr std::chrono::seconds kLongestCall{30};
constexpr std::chrono::seconds kLongestList{60};
constexpr int kMaxRetries = 10;
constexpr size_t kLongestLine = size_t{64} << 20;
constexpr size_t kKeptConnections = 16;

// Connections of one kind of call that are not in use, the latest first.
class Pool {
 public:
  std::unique_ptr<Connection> Take() {
    MutexLock lock(mutex_);
    if (idle_.empty()) return nullptr;
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    return connection;
  }
  void GiveBack(std::unique_ptr<Connection> connection) {
    MutexLock lock(mutex_);
    if (idle_.size() < kKeptConnections) idle_.push_back(std::move(connection));
  }

 private:
  Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> idle_ GUARDED_BY(mutex_);
};

}  // namespace

struct Client::Impl {
  ClientConfig config;
  ClientOptions options;
  const Clock& clock;
  Credentials credentials;
  RateLimiter limiter;
  std::array<Pool, 2> calls;  // by lane
  Pool lists;
  Pool watches;
  std::stop_source stop;

  Impl(ClientConfig c, ClientOptions o, const Clock& clk)
      : config(std::move(c)),
        options(std::move(o)),
        clock(clk),
        credentials(config, clk),
        limiter(options.qps, options.burst, clk) {}

  SteadyTime Deadline(Duration longest, SteadyTime given) const {
    if (options.timeout > Duration{0}) longest = std::min(longest, options.timeout);
    return std::min(given, clock.Steady() + longest);
  }

  // One exchange on a connection of `pool`; after a 401 once more.
  Result<Exchange> Perform(Pool& pool, const Request& request, const Connection::Sink& sink,
                           const std::stop_token& token) {
    for (bool again = false;; again = true) {
      auto auth = credentials.Get(token);
      if (!auth) return auth.error();
      std::unique_ptr<Connection> connection = pool.Take();
      if (!connection) connection = std::make_unique<Connection>(config, options.user_agent);
      Exchange exchange = connection->Perform(request, **auth, sink, token);
      pool.GiveBack(std::move(connection));
      if (exchange.status == 401) credentials.Refused(*auth);
      if (exchange.status != 401 || again) return exchange;
    }
  }

  // The body of a successful answer.
  Result<std::string> Call(Pool& pool, Lane lane, Request request, SteadyTime deadline,
                           const std::stop_token& token) {
    const bool write = request.method != "GET";
    const auto describe = [&](const std::string& what) {
      return request.method + " " + request.target + ": " + what;
    };
    for (int retries = 0;; ++retries) {
      if (auto may_go = limiter.Acquire(lane, deadline, token); !may_go) return may_go.error();
      request.timeout = deadline - clock.Steady();
      if (request.timeout <= Duration{0}) {
        return Error{ErrorCode::kDeadline, describe("no time was left for the call")};
      }
      Result<Exchange> result = Perform(pool, request, nullptr, token);
      if (!result) return result.error();
      Exchange& exchange = *result;

      Error error;
      std::optional<Duration> pause;
      using End = Exchange::End;
      if (exchange.end == End::kComplete) {
        if (exchange.status >= 200 && exchange.status < 300) return std::move(exchange.body);
        error = ErrorOfAnswer(exchange.status, exchange.body, write);
        const bool done_nothing = exchange.status == 429 || exchange.status == 503;
        if (done_nothing || (!write && exchange.status >= 500)) pause = exchange.retry_after;
      } else if (exchange.end == End::kCancelled) {
        error = CancelledError();
      } else if (exchange.end == End::kTooLarge) {
        error = {ErrorCode::kTooLarge, describe("the answer is too large")};
      } else if (write && exchange.sent) {
        error = {ErrorCode::kUnknownOutcome, describe("the answer was lost: " + exchange.failure)};
      } else if (exchange.end == End::kTimedOut && (exchange.sent || clock.Steady() >= deadline)) {
        error = {ErrorCode::kDeadline, describe(exchange.failure)};
      } else {
        error = {ErrorCode::kUnavailable, describe(exchange.failure)};
        // The connection was there and broke; one that was kept may just have
        // been closed, so the first repetition follows at once.
        if (!write && exchange.sent) pause = std::chrono::seconds(retries == 0 ? 0 : 1);
      }
      if (!pause || retries == kMaxRetries || clock.Steady() + *pause >= deadline) return error;
      if (!SleepFor(*pause, token)) return CancelledError();
    }
  }

  Result<std::string> Call(Request request, const CallOptions& call) {
    // An empty name would turn one object's path into that of a list.
    if (Contains(request.target, "//") || request.target.ends_with('/')) {
      return InvalidError("a name is missing: " + request.target);
    }
    const auto lane = static_cast<size_t>(call.lane);
    return Call(calls[lane], call.lane, std::move(request), Deadline(kLongestCall, call.deadline),
                stop.get_token());
  }
};

Client::Client(ClientConfig config, ClientOptions options, const Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(options), clock)) {}

Client::~Client() { Shutdown(); }

void Client::Shutdown() { impl_->stop.request_stop(); }

namespace {

// The object in the answer to a write: if it cannot be read, it was written all
// the same.
template <typename T>
Result<T> Written(Result<T> parsed) {
  if (!parsed) return Error{ErrorCode::kUnknownOutcome, "answer: " + parsed.error().message};
  return parsed;
}

Request Write(std::string method, std::string target, std::string body, std::string type) {
  Request request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.body = std::move(body);
  request.content_type = std::move(type);
  return request;
}

Request Get(std::string target) {
  Request request;
  request.target = std::move(target);
  return request;
}

}  // namespace

Result<Pod> Client::GetPod(std::string_view ns, std::string_view name, const CallOptions& call) {
  Result<std::string> body = impl_->Call(Get(PodPath(ns, name)), call);
  if (!body) return body.error();
  return ParsePod(*body);
}

Result<Node> Client::GetNode(std::string_view name, const CallOptions& call) {
  Result<std::string> body = impl_->Call(Get(NodePath(name)), call);
  if (!body) return body.error();
  return ParseNode(*body);
}

Result<Pod> Client::PatchPod(const ObjectRef& ref, const std::string& merge_patch,
                             const CallOptions& call) {
  Result<std::string> body =
      impl_->Call(Write("PATCH", PodPath(ref.ns, ref.name), merge_patch, kMergePatch), call);
  if (!body) return body.error();
  return Written(ParsePod(*body));
}

Result<Node> Client::PatchNode(std::string_view name, const std::string& merge_patch,
                               const CallOptions& call) {
  Result<std::string> body =
      impl_->Call(Write("PATCH", NodePath(name), merge_patch, kMergePatch), call);
  if (!body) return body.error();
  return Written(ParseNode(*body));
}

Result<void> Client::Bind(const Binding& binding, const CallOptions& call) {
  Result<std::string> answer =
      impl_->Call(Write("POST", PodPath(binding.pod.ns, binding.pod.name) + "/binding",
                        binding.ToJson(), kJson),
                  call);
  if (!answer) return answer.error();
  return {};
}

Result<std::string> Client::CreateEvent(std::string_view ns, const std::string& event,
                                        const CallOptions& call) {
  Result<std::string> body = impl_->Call(Write("POST", EventsPath(ns), event, kJson), call);
  if (!body) return body.error();
  Result<ObjectMeta> meta = Written(ParseMeta(*body));
  if (!meta) return meta.error();
  return std::move(meta->name);
}

Result<void> Client::PatchEvent(std::string_view ns, std::string_view name,
                                const std::string& patch, const CallOptions& call) {
  Result<std::string> body = impl_->Call(
      Write("PATCH", EventsPath(ns) + "/" + UrlEscape(name), patch, kStrategicPatch), call);
  if (!body) return body.error();
  return {};
}

Result<std::string> Client::Call(const std::string& method, const std::string& target,
                                 const std::string& body, const std::string& content_type,
                                 const CallOptions& call) {
  return impl_->Call(method == "GET" ? Get(target) : Write(method, target, body, content_type),
                     call);
}

Result<std::string> Client::List(const std::string& target, const std::stop_token& stop) {
  const EitherStop either(stop, impl_->stop.get_token());
  Request request = Get(target);
  request.gzip = true;
  return impl_->Call(impl_->lists, Lane::kScheduling, std::move(request),
                     impl_->Deadline(kLongestList, SteadyTime::max()), either.token());
}

Result<void> Client::Watch(const std::string& target, Duration longest,
                           const std::function<bool(std::string_view line)>& on_line,
                           const std::stop_token& stop) {
  const EitherStop either(stop, impl_->stop.get_token());
  if (either.token().stop_requested()) return CancelledError();
  const Duration limit = impl_->options.timeout;
  const bool cut = limit > Duration{0} && limit < longest;
  Request request = Get(target);
  request.timeout = cut ? limit : longest;
  LineSplitter lines(kLongestLine);
  bool too_long = false;
  const Connection::Sink sink = [&](std::string_view bytes) {
    const LineSplitter::State state = lines.Feed(bytes, on_line);
    too_long = state == LineSplitter::State::kTooLong;
    return state == LineSplitter::State::kMore;
  };

  Result<Exchange> result = impl_->Perform(impl_->watches, request, sink, either.token());
  if (!result) return result.error();
  using End = Exchange::End;
  const std::string where = "watch of " + target + ": ";
  switch (result->end) {
    case End::kComplete:
      if (result->status != 200) return ErrorOfAnswer(result->status, result->body, false);
      return {};
    case End::kStoppedBySink:
      if (too_long) return Error{ErrorCode::kTooLarge, where + "a line is too long"};
      return {};
    case End::kCancelled:
      return CancelledError();
    case End::kTimedOut:
      if (cut && result->received) return {};
      break;
    case End::kTooLarge:
    case End::kBroken:
      break;
  }
  return Error{ErrorCode::kUnavailable, where + result->failure};
}

}  // namespace aliquot::kube
