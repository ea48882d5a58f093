// The head of an HTTP/1 request: its request line and those header fields that
// decide where the request ends. Strict, because whatever two parsers read
// differently is an opening: cpp-httplib sees a request only after this did.
//
// Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace aliquot::server {

// Why a request gets no further. The connection closes after it.
struct Rejection {
  std::string_view status;  // e.g. "413 Content Too Large"
  std::string text;         // for a human
  std::string_view content_type = "text/plain; charset=utf-8";
};

struct Head {
  std::string method;
  std::string target;        // begins with '/', may have a query
  std::string content_type;  // as it was sent; empty: not given
  size_t content_length = 0;
  bool keep_alive = true;
  bool expects_continue = false;
  bool accepts_gzip = false;  // of the answer
};

// `text`: lines which end with CRLF, up to and including the empty one. Fills `head`; of a
// head that is rejected as far as it was read.
std::optional<Rejection> ParseHead(std::string_view text, Head& head);

// The whole answer to a request that was rejected.
std::string ToAnswer(const Rejection& rejection);

}  // namespace aliquot::server
