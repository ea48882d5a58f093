#include "load/run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <latch>
#include <memory>
#include <thread>

#include "load/http_connection.h"

namespace aliquot::load {
namespace {

SteadyTime Now() { return std::chrono::steady_clock::now(); }

// What the threads of a run share.
struct Shared {
  const Plan& plan;
  const Url& url;
  const FilterRequests& requests;
  std::latch warm;   // all connections have done their warm-up
  std::latch go{1};  // `begin` is set
  SteadyTime begin{};
  std::atomic<size_t> next{0};  // number of the next request
};

// One connection of a run.
class Worker {
 public:
  Worker(Shared& shared, size_t number)
      : shared_(shared), connection_(shared.url), warm_up_at_(number * shared.plan.warmup) {}

  void Run() {
    for (size_t i = 0; i < shared_.plan.warmup; ++i) Exchange(warm_up_at_ + i, std::nullopt);
    figures_ = {};
    shared_.warm.count_down();
    shared_.go.wait();
    while (true) {
      const size_t number = shared_.next++;
      const std::optional<SteadyTime> due = DueTime(number);
      if (number >= shared_.plan.requests || IsOver(due.value_or(Now()))) return;
      if (due) std::this_thread::sleep_until(*due);
      Exchange(number, due);
    }
  }

  Figures& figures() { return figures_; }

 private:
  std::optional<SteadyTime> DueTime(size_t number) const {
    if (shared_.plan.rate <= 0) return std::nullopt;
    const std::chrono::duration<double> after(static_cast<double>(number) / shared_.plan.rate);
    return shared_.begin + std::chrono::duration_cast<Duration>(after);
  }

  bool IsOver(SteadyTime at) const {
    return shared_.plan.longest && at - shared_.begin > *shared_.plan.longest;
  }

  void Exchange(size_t number, std::optional<SteadyTime> due) {
    const auto request = shared_.requests.Request(number);
    const SteadyTime begin = due.value_or(Now());
    const Result<HttpAnswer> answer = connection_.Exchange(request);
    const Duration taken = Now() - begin;
    if (!answer)
      ++figures_.errors[answer.error().message];
    else if (Count(*answer))
      figures_.times.push_back(taken);
  }

  // False: the answer is an error.
  bool Count(const HttpAnswer& http) {
    const Plan& plan = shared_.plan;
    figures_.answer_bytes = std::max(figures_.answer_bytes, http.body.size());
    if (!plan.reads_answers) return true;
    Answer answer = ReadAnswer(http.status, http.body);
    const bool unexpected = plan.expected && answer.verdict != *plan.expected;
    if (answer.verdict == Verdict::kFailed) {
      ++figures_.errors[answer.problem];
      return false;
    }
    ++(answer.verdict == Verdict::kFits ? figures_.fits : figures_.refused);
    if (unexpected) ++figures_.errors["not the answer that was expected"];
    return !unexpected;
  }

  Shared& shared_;
  HttpConnection connection_;
  const size_t warm_up_at_;
  Figures figures_;
};

void Add(Figures& all, Figures& one) {
  all.times.insert(all.times.end(), one.times.begin(), one.times.end());
  all.fits += one.fits;
  all.refused += one.refused;
  all.answer_bytes = std::max(all.answer_bytes, one.answer_bytes);
  for (const auto& [text, times] : one.errors) all.errors[text] += times;
}

}  // namespace

Duration Figures::Quantile(double q) const {
  if (times.empty()) return Duration(0);
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(times.size())));
  return times[std::clamp<size_t>(rank, 1, times.size()) - 1];
}

double Figures::per_second() const {
  const double seconds = std::chrono::duration<double>(elapsed).count();
  return seconds > 0 ? static_cast<double>(times.size()) / seconds : 0;
}

size_t Figures::failed() const {
  size_t sum = 0;
  for (const auto& [text, times_seen] : errors) sum += times_seen;
  return sum;
}

Figures Run(const Plan& plan, const Url& url, const FilterRequests& requests) {
  Shared shared{.plan = plan,
                .url = url,
                .requests = requests,
                .warm = std::latch(static_cast<std::ptrdiff_t>(plan.connections))};
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < plan.connections; ++i) {
    workers.push_back(std::make_unique<Worker>(shared, i));
    threads.emplace_back([worker = workers.back().get()] { worker->Run(); });
  }
  shared.warm.wait();
  shared.begin = Now();
  shared.go.count_down();
  for (std::thread& thread : threads) thread.join();

  Figures all;
  all.elapsed = Now() - shared.begin;
  for (const auto& worker : workers) Add(all, worker->figures());
  std::sort(all.times.begin(), all.times.end());
  return all;
}

}  // namespace aliquot::load
