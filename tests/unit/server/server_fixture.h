// A server with a stub behind it, and what its tests send and want.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aliquot/base/strings.h"
#include "aliquot/server/server.h"
#include "client.h"

namespace aliquot::server {

using scheduler::AdmissionAnswer;
using scheduler::AdmissionRequest;
using scheduler::BindAnswer;
using scheduler::BindRequest;
using scheduler::FilterAnswer;
using scheduler::FilterRequest;
using scheduler::RequestContext;

// Answers what the test says; by default the first candidate, and success.
class StubExtender : public scheduler::Extender {
 public:
  FilterAnswer Filter(const FilterRequest& request, const RequestContext& context) override {
    ++filters;
    if (on_filter) return on_filter(request, context);
    FilterAnswer answer;
    if (!request.node_names.empty()) answer.node_names = {request.node_names.front()};
    return answer;
  }
  BindAnswer Bind(const BindRequest& request, const RequestContext& context) override {
    ++binds;
    return on_bind ? on_bind(request, context) : BindAnswer{};
  }
  AdmissionAnswer Admit(const AdmissionRequest& request) override {
    return on_admit ? on_admit(request) : AdmissionAnswer{.allowed = true, .pod = request.pod};
  }

  std::function<FilterAnswer(const FilterRequest&, const RequestContext&)> on_filter;
  std::function<BindAnswer(const BindRequest&, const RequestContext&)> on_bind;
  std::function<AdmissionAnswer(const AdmissionRequest&)> on_admit;
  std::atomic<int> filters = 0;
  std::atomic<int> binds = 0;
};

inline constexpr std::string_view kBind =
    R"({"PodName":"p","PodNamespace":"ns","PodUID":"u","Node":"gpu-1"})";

inline std::string FilterBody(int names) {
  std::string body = R"({"Pod":{"metadata":{"name":"p","namespace":"ns","uid":"u"}},"Nodes":null,)"
                     R"("NodeNames":[)";
  for (int i = 0; i < names; ++i) {
    body += (i > 0 ? ",\"" : "\"") + ("gpu-node-pool-a-" + std::to_string(10'000 + i)) + "\"";
  }
  return body + "]}";
}

inline const std::string kFiltered =
    R"({"Nodes":null,"NodeNames":["gpu-node-pool-a-10000"],"FailedNodes":null,)"
    R"("FailedAndUnresolvableNodes":null,"Error":""})";

// A line of /proc/self/status, e.g. "Threads" or "VmRSS" (kB).
inline int64_t OfThisProcess(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(key)) continue;
    const size_t digit = line.find_first_of("0123456789");
    return ParseInt64(line.substr(digit, line.find_first_not_of("0123456789", digit) - digit))
        .value_or(-1);
  }
  return -1;
}

// How long each of 1,000 calls took, ascending; fewer if one got no answer.
inline std::vector<double> MicrosOfAThousand(Client& client, const std::string& request) {
  std::vector<double> micros;
  for (int i = 0; i < 1'000; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (!client.Ask(request)) break;
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    micros.push_back(took.count());
  }
  std::sort(micros.begin(), micros.end());
  return micros;
}

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() { options_.bind = "127.0.0.1:0"; }

  void Start() {
    server_ = std::make_unique<Server>(extender_, options_);
    const Result<void> started = server_->Start();
    ASSERT_TRUE(started.ok()) << started.error().message;
  }
  Client Connect() { return Client(server_->port()); }
  HttpAnswer Ask(std::string_view bytes) {
    Client client = Connect();
    return client.Ask(bytes).value_or(HttpAnswer{});
  }

  StubExtender extender_;
  Server::Options options_;
  std::unique_ptr<Server> server_;
};

}  // namespace aliquot::server
