// Cluster: an embedded stand-in for kube-apiserver, in memory. It knows
// namespaces, pods, nodes, events, resource quotas, leases, secrets and mutating
// webhook configurations (which are never called), and answers as the real one
// does wherever a client of these can see it: resource versions, preconditions,
// pages, watches, deletion, binding, and the texts of refusals.
// No kubelet, no controllers, no authorization: what the objects say is what
// somebody has written, except that a deleted namespace takes its objects along.
//
// Two faces: LocalClient (in the process) and HttpFront (for everybody else).
//
// Thread safety: any method from any thread. Watches end before the cluster.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "aliquot/base/clock.h"

namespace aliquot::cluster {

// One HTTP request, without the HTTP.
struct Request {
  std::string method = "GET";
  std::string target;        // path and query, escaped: "/api/v1/pods?limit=500"
  std::string content_type;  // of the body
  std::string body;
};

// The lines of one watch.
//
// Thread safety: one thread at a time.
class Watch {
 public:
  virtual ~Watch() = default;

  struct Piece {
    enum class Kind {
      kLine,  // `text` is one event and a newline
      kEnd,   // orderly: the time is over, or the history is gone
      kCut,   // the connection breaks after `text`, which may be half a line
    };
    Kind kind = Kind::kEnd;
    std::string text;
  };

  // Blocks until there is something. Asking for the next line says that the
  // one before has been dealt with, see Cluster::WaitForWatches.
  virtual Piece Next(const std::stop_token& stop) = 0;

  // Nothing to say at `until` (the machine's clock): nothing. To look now and
  // then whether anybody still reads.
  virtual std::optional<Piece> NextUntil(const std::stop_token& stop, SteadyTime until) = 0;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  int retry_after = 0;  // seconds; 0: no such header

  // What of the answer arrives.
  enum class Delivery { kWhole, kHalf, kNothing };
  Delivery delivery = Delivery::kWhole;

  std::unique_ptr<Watch> watch;  // of a watch that has begun: instead of a body
};

// What goes wrong, for tests. Which requests it concerns: an empty text matches
// every one.
struct Fault {
  std::string verb = {};      // get, list, watch, create, update, patch, delete
  std::string resource = {};  // "pods", "pods/status", "pods/binding"
  std::string name = {};
  int skip = 0;   // so many matching requests pass first
  int times = 1;  // then so many are hit; 0: all until it is removed

  Duration delay{0};   // by the cluster's clock, before anything else
  bool block = false;  // until it is removed, before anything else

  enum class Effect {
    kNone,        // only delay or block
    kAnswer,      // nothing is done; `status` and what belongs to it is answered
    kRefuse,      // nothing is done; the connection is closed without an answer
    kLoseAnswer,  // carried out; the connection is closed without an answer
    kCutAnswer,   // carried out; half of the answer arrives. Of a watch:
                  // `whole_lines` lines and half of the next
  };
  Effect effect = Effect::kNone;

  int status = 500;
  std::string reason = "InternalError";
  std::string message = "fault";
  int retry_after = 0;
  int whole_lines = 0;
};

class Cluster {
 public:
  struct Options {
    uint64_t seed = 1;                // of UIDs and generated names
    size_t history_per_kind = 10000;  // changes kept for watches and old lists
  };

  // `clock` outlives the cluster.
  explicit Cluster(Options options, const Clock& clock = SystemClock());
  ~Cluster();

  // Carries one request out. Blocks only for a fault's delay or block, which
  // `stop` and `deadline` (the machine's clock) cut short: nothing is done then.
  Response Handle(const Request& request, const std::stop_token& stop = {},
                  SteadyTime deadline = SteadyTime::max());

  // Of the latest change.
  uint64_t resource_version() const;

  // Forgets the history, as etcd's compaction does: older resource versions and
  // continue tokens are answered with 410.
  void Compact();

  // After a FakeClock was moved: whoever waits looks at the time again.
  void Tick();

  // Faults are looked through in the order they came. Removing one releases
  // those it blocks.
  using FaultId = int;
  FaultId AddFault(Fault fault);
  void RemoveFault(FaultId id);
  // Waits until the fault has hit so many requests; false at the deadline (the
  // machine's clock).
  bool WaitForHits(FaultId id, int hits, SteadyTime deadline);

  // Waits until at least `count` watches are open and every open one has
  // delivered all changes and asked for more; false at the deadline (the
  // machine's clock). In the process, that means that they have been handled.
  bool WaitForWatches(size_t count, SteadyTime deadline);

  size_t open_watches() const;

  // Waits until something was written after `version`; false at the deadline.
  bool WaitForChange(uint64_t version, SteadyTime deadline);

 private:
  struct Impl;
  class OpenWatch;
  std::unique_ptr<Impl> impl_;
};

}  // namespace aliquot::cluster
