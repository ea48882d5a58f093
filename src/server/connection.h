// Connection: one HTTP/1 connection as a state machine. It reads requests and
// writes answers as far as the socket lets it, and says what it waits for; who
// waits, and on which thread requests are answered, is the Gatekeeper's part.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "aliquot/base/clock.h"
#include "server/head.h"
#include "server/routes.h"
#include "server/transport.h"

namespace aliquot::server {

// A request that has arrived completely.
struct Incoming {
  Head head;
  Match match;
  std::string body;
  SteadyTime received;
};

// Thread safety: one thread at a time.
class Connection {
 public:
  struct Limits {
    size_t head_bytes = 16 << 10;
    size_t unrouted_body_bytes = 1 << 20;  // where no route says otherwise
    Duration head_timeout =
        std::chrono::seconds(15);  // from a request's first byte; of a handshake
    Duration request_timeout = std::chrono::seconds(60);  // from the same
    Duration idle_timeout = std::chrono::seconds(180);    // kube-scheduler gives up after 90 s
    Duration write_timeout = std::chrono::seconds(30);
  };

  enum class Next {
    kRead,   // Advance again when the socket is readable
    kWrite,  // Advance again when the socket is writable
    kYield,  // Advance again after others had their turn
    kRun,    // a request is complete: TakeRequest
    kClose,
  };

  // Both outlive the connection.
  Connection(std::unique_ptr<Transport> transport, const RouteTable& routes, const Limits& limits);

  // Sends what is left of an answer, then reads towards the next request.
  Next Advance();

  // REQUIRES: the last Advance said kRun. Answer follows.
  Incoming TakeRequest();

  // Of the complete request. REQUIRES: as TakeRequest.
  WorkerPool& pool() const;

  // Takes the answer to send; Advance sends it. `last`: the connection closes
  // after it.
  void Answer(std::string bytes, bool last);

  // Drops what is here of a request: Advance sends why, in the form of its route if that
  // is known, and then closes.
  void Reject(Rejection rejection);

  // Rejects half a request. False: nobody waits for an answer, close.
  bool TimeOut();

  // When to call TimeOut.
  SteadyTime deadline() const;

  // Between two requests, with not a byte of the next one.
  bool idle() const {
    return !draining_ && in_.empty() && out_.empty() && !head_ && !transport_->holds_part();
  }

  // Why a handshake failed; empty if none did.
  std::string_view failure() const { return transport_->failure(); }

  size_t buffered_bytes() const { return in_.capacity(); }
  int fd() const { return transport_->fd(); }

 private:
  bool Complete() const { return head_ && in_.size() >= head_->content_length; }
  bool BeginningIsHere() const;
  void ReadHead();

  const std::unique_ptr<Transport> transport_;
  const RouteTable& routes_;
  const Limits& limits_;

  std::string in_;      // of the head until that is complete, then of the body, and what follows
  size_t scanned_ = 0;  // of in_: holds no end of a head
  std::optional<Head> head_;
  Match match_;                        // of the head
  std::optional<Rejection> too_long_;  // of a body over its cap; waits for its beginning
  std::string out_;                    // of the answer
  size_t sent_ = 0;                    // of out_
  bool last_ = false;                  // close after out_
  bool draining_ = false;              // reading away what the peer still sends before we close
  SteadyTime since_;                   // of the request's first byte, the answer, or the idle time
};

}  // namespace aliquot::server
