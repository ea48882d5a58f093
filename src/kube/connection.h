// Connection: one reusable HTTP/1.1 connection to the API server; libcurl stays
// behind this header.
//
// Thread safety: one request at a time. Ownership: the pool's, or a request's
// while it runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "aliquot/base/clock.h"
#include "kube/credentials.h"

namespace aliquot::kube {

struct Request {
  std::string method = "GET";
  std::string target;  // path and query
  std::string body;
  std::string content_type;  // of the body; empty: there is none
  bool gzip = false;         // may be answered compressed
  Duration timeout{};        // for all of it
};

// How an exchange ended. With status 0 there was no answer.
struct Exchange {
  enum class End { kComplete, kStoppedBySink, kCancelled, kTimedOut, kTooLarge, kBroken };
  End end = End::kBroken;
  long status = 0;
  std::string body;  // unless a sink took it
  std::optional<std::chrono::seconds> retry_after;
  bool sent = false;      // the server may have the whole request
  bool received = false;  // at least one byte of an answer came
  std::string failure;    // what broke, in libcurl's words
};

class Connection {
 public:
  // `config` gives server, proxy, and how to verify.
  Connection(const ClientConfig& config, const std::string& user_agent);
  ~Connection();

  // Gets the body of a successful answer as it comes; false ends the exchange.
  using Sink = std::function<bool(std::string_view bytes)>;

  // A request with a body is never sent twice, whatever happens to it.
  Exchange Perform(const Request& request, const Auth& auth, const Sink& sink,
                   const std::stop_token& stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aliquot::kube
