// Run: sends requests over some connections, and measures each exchange from
// before its first byte is sent until its last byte is here.
//
// Errors are figures too: counted by their text, and without a part in the times.
// Thread safety: any thread; a run has a thread per connection.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "aliquot/base/clock.h"
#include "load/answer.h"
#include "load/filter_requests.h"
#include "load/url.h"

namespace aliquot::load {

struct Plan {
  size_t connections = 1;                // each with a thread
  size_t warmup = 50;                    // exchanges per connection that are not measured
  size_t requests = 1000;                // in all
  std::optional<Duration> longest = {};  // begin no request later than this
  // Requests per second in all. 0: each connection sends as soon as it has its
  // answer. Else a request's time begins when it was due, so that a slow answer
  // is charged with the wait of those behind it.
  double rate = 0;
  // Any other verdict is an error. None: fits and refused are both welcome.
  std::optional<Verdict> expected = {};
  bool reads_answers = true;  // off: whatever comes is taken for an answer
};

struct Figures {
  std::vector<Duration> times;  // ascending
  Duration elapsed{0};          // of the measured part
  size_t fits = 0;
  size_t refused = 0;
  std::map<std::string, size_t> errors;  // text -> how often
  size_t answer_bytes = 0;               // the longest body

  // The smallest time that the part `q` of all times does not exceed (0 < q <= 1);
  // zero if there is none.
  Duration Quantile(double q) const;
  double per_second() const;
  size_t failed() const;
};

// `requests` are addressed to `url`.
Figures Run(const Plan& plan, const Url& url, const FilterRequests& requests);

}  // namespace aliquot::load
