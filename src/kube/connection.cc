#include "kube/connection.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <cstring>

namespace aliquot::kube {
namespace {

constexpr long kConnectMs = 10'000;
constexpr size_t kMaxBody = size_t{1} << 30;
constexpr unsigned kUserTimeoutMs = 45'000;  // unacknowledged data for so long: dead

struct SlistFree {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using Slist = std::unique_ptr<curl_slist, SlistFree>;

void Append(Slist& list, const std::string& line) {
  list.reset(curl_slist_append(list.release(), line.c_str()));
}

struct UrlFree {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string UrlPart(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return "";
  std::string copy = text;
  curl_free(text);
  return copy;
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" || host.starts_with("127.");
}

int SetUserTimeout(void*, curl_socket_t socket, curlsocktype) {
  // Where it is not supported, TCP keep-alive has to do.
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUserTimeoutMs, sizeof(kUserTimeoutMs));
  return CURL_SOCKOPT_OK;
}

// libcurl's own copy is not needed: `pem` outlives the request.
void SetBlob(CURL* easy, CURLoption option, const std::string& pem) {
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
  curl_easy_setopt(easy, option, pem.empty() ? nullptr : &blob);
}

void InitCurlOnce() {
  static const CURLcode done = [] {
    // OpenSSL writes to sockets that the server may have closed.
    std::signal(SIGPIPE, SIG_IGN);
    return curl_global_init(CURL_GLOBAL_DEFAULT);
  }();
  ALIQUOT_CHECK(done == CURLE_OK);
}

// What the callbacks of one exchange work on.
struct Running {
  CURL* easy;
  const Request& request;
  const Connection::Sink& sink;
  Exchange& exchange;
  size_t sent = 0;  // bytes of the body

  static size_t OnRead(char* to, size_t size, size_t count, void* self) {
    auto& run = *static_cast<Running*>(self);
    const size_t piece = std::min(size * count, run.request.body.size() - run.sent);
    std::memcpy(to, run.request.body.data() + run.sent, piece);
    run.sent += piece;
    run.exchange.sent = true;
    return piece;
  }

  // libcurl would send a request again when a kept connection turns out dead;
  // it cannot without going back in the body.
  static int OnSeek(void*, curl_off_t, int) { return CURL_SEEKFUNC_FAIL; }

  static size_t OnWrite(char* from, size_t size, size_t count, void* self) {
    auto& run = *static_cast<Running*>(self);
    const std::string_view bytes(from, size * count);
    long status = 0;
    curl_easy_getinfo(run.easy, CURLINFO_RESPONSE_CODE, &status);
    if (run.sink && status == 200) {
      if (run.sink(bytes)) return bytes.size();
      run.exchange.end = Exchange::End::kStoppedBySink;
      return CURL_WRITEFUNC_ERROR;
    }
    if (run.exchange.body.size() + bytes.size() > kMaxBody) {
      run.exchange.end = Exchange::End::kTooLarge;
      return CURL_WRITEFUNC_ERROR;
    }
    run.exchange.body.append(bytes);
    return bytes.size();
  }
};

}  // namespace

struct Connection::Impl {
  CURLM* multi = curl_multi_init();
  CURL* easy = curl_easy_init();
  std::string base;  // the URL before the target
  Slist connect_to;
  bool gzip = false;

  Impl(const ClientConfig& config, const std::string& user_agent) {
    ALIQUOT_CHECK(multi != nullptr && easy != nullptr);
    base = config.server;
    const std::unique_ptr<CURLU, UrlFree> url(curl_url());
    curl_url_set(url.get(), CURLUPART_URL, base.c_str(), 0);
    const std::string host = UrlPart(url.get(), CURLUPART_HOST);
    // Compressing for ourselves costs more than it saves.
    gzip = config.compress && !IsLoopback(host);
    if (!config.tls_server_name.empty()) {
      // The URL holds the name to verify, the connection goes where it did.
      Append(connect_to, "::" + host + ":" + UrlPart(url.get(), CURLUPART_PORT));
      curl_url_set(url.get(), CURLUPART_HOST, config.tls_server_name.c_str(), 0);
      base = UrlPart(url.get(), CURLUPART_URL);
      while (base.ends_with('/')) base.pop_back();
      curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to.get());
    }

    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, config.insecure ? 0L : 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, config.insecure ? 0L : 2L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
    // The API server closes a connection that was idle for 90 s.
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, 60L);
    curl_easy_setopt(easy, CURLOPT_MAXCONNECTS, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 10L);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, SetUserTimeout);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, user_agent.c_str());
    if (!config.proxy_url.empty()) {
      curl_easy_setopt(easy, CURLOPT_PROXY, config.proxy_url.c_str());
    } else if (IsLoopback(host)) {
      curl_easy_setopt(easy, CURLOPT_PROXY, "");
    }
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, Running::OnRead);
    curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, Running::OnSeek);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Running::OnWrite);
  }

  ~Impl() {
    curl_easy_cleanup(easy);
    curl_multi_cleanup(multi);
  }

  // The slist lives as long as the exchange.
  Slist Prepare(const Request& request, const Auth& auth, Running& running) {
    curl_easy_setopt(easy, CURLOPT_URL, (base + request.target).c_str());
    Slist headers;
    Append(headers, "Accept: application/json");
    for (const std::string& header : auth.headers) Append(headers, header);
    const bool has_body = !request.content_type.empty();
    curl_easy_setopt(easy, has_body ? CURLOPT_POST : CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (has_body) {
      Append(headers, "Content-Type: " + request.content_type);
      Append(headers, "Expect:");
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, request.gzip && gzip ? "gzip" : nullptr);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(request.timeout).count();
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, std::max<long>(ms, 1));
    SetBlob(easy, CURLOPT_CAINFO_BLOB, auth.ca);
    // The given CA is the only one then.
    if (!auth.ca.empty()) curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    SetBlob(easy, CURLOPT_SSLCERT_BLOB, auth.certificate);
    SetBlob(easy, CURLOPT_SSLKEY_BLOB, auth.key);
    curl_easy_setopt(easy, CURLOPT_READDATA, &running);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &running);
    return headers;
  }
};

Connection::Connection(const ClientConfig& config, const std::string& user_agent) {
  InitCurlOnce();
  impl_ = std::make_unique<Impl>(config, user_agent);
}

Connection::~Connection() = default;

Exchange Connection::Perform(const Request& request, const Auth& auth, const Sink& sink,
                             const std::stop_token& stop) {
  CURL* easy = impl_->easy;
  CURLM* multi = impl_->multi;
  Exchange exchange;
  Running running{easy, request, sink, exchange};
  const Slist headers = impl_->Prepare(request, auth, running);
  char text[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, text);

  CURLcode code = CURLE_FAILED_INIT;
  {
    const std::stop_callback wake(stop, [multi] { curl_multi_wakeup(multi); });
    curl_multi_add_handle(multi, easy);
    int active = 1;
    while (active > 0 && !stop.stop_requested()) {
      if (curl_multi_perform(multi, &active) != CURLM_OK) break;
      if (active > 0) curl_multi_poll(multi, nullptr, 0, 10'000, nullptr);
    }
    int queued = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &queued)) {
      if (message->msg == CURLMSG_DONE) code = message->data.result;
    }
    curl_multi_remove_handle(multi, easy);
  }
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);

  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &exchange.status);
  exchange.received = exchange.status != 0;
  long request_bytes = 0;
  curl_easy_getinfo(easy, CURLINFO_REQUEST_SIZE, &request_bytes);
  if (request.content_type.empty()) exchange.sent = request_bytes > 0;
  curl_off_t seconds = 0;
  if (curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds) == CURLE_OK && seconds > 0) {
    exchange.retry_after = std::chrono::seconds(std::min<curl_off_t>(seconds, 3600));
  }
  if (code == CURLE_OK) {
    exchange.end = Exchange::End::kComplete;
  } else if (stop.stop_requested()) {
    exchange.end = Exchange::End::kCancelled;
  } else if (code == CURLE_OPERATION_TIMEDOUT) {
    exchange.end = Exchange::End::kTimedOut;
  }
  exchange.failure = text[0] != '\0' ? text : curl_easy_strerror(code);
  return exchange;
}

}  // namespace aliquot::kube
