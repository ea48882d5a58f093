#include "aliquot/scheduler/registrar.h"

#include <algorithm>
#include <chrono>

#include "aliquot/base/log.h"
#include "aliquot/base/quantity.h"
#include "aliquot/codec/handshake.h"
#include "scheduler/node_reader.h"

namespace aliquot::scheduler {
namespace {

constexpr auto kHandshakeExpiry = std::chrono::seconds(60);
constexpr auto kHandshakeRetry = std::chrono::seconds(30);

int64_t Count(const StringMap& amounts, std::string_view resource) {
  const std::string* text = Find(amounts, resource);
  const std::optional<Quantity> quantity = text ? Quantity::Parse(*text) : std::nullopt;
  return quantity ? std::max<int64_t>(quantity->Value(), 0) : 0;
}

std::string TextAt(const StringMap& map, std::string_view key) {
  const std::string* text = Find(map, key);
  return text ? *text : std::string();
}

bool Matches(const StringMap& labels, const StringMap& selector) {
  return std::all_of(selector.begin(), selector.end(), [&](const auto& wanted) {
    const std::string* label = Find(labels, wanted.first);
    return label != nullptr && *label == wanted.second;
  });
}

// Vendors take part in the handshake where the node knows them.
bool TakesPart(const core::VendorSpec& spec, const StringMap& annotations) {
  return !spec.node_handshake.empty() &&
         (annotations.contains(spec.node_register) || annotations.contains(spec.node_handshake));
}

}  // namespace

Registrar::Registrar(kube::Api& api, const core::Registry& registry, ledger::Ledger& ledger,
                     const Leader& leader, const Options& options, const Clock& clock,
                     RecordEvent record)
    : api_(api),
      registry_(registry),
      ledger_(ledger),
      leader_(leader),
      options_(options),
      clock_(clock),
      record_(std::move(record)) {}

void Registrar::OnNode(const kube::Node* old, const kube::Node& now) {
  if (old != nullptr && old->meta.annotations == now.meta.annotations &&
      old->meta.labels == now.meta.labels && old->allocatable == now.allocatable &&
      old->capacity == now.capacity)
    return;
  const std::string& name = now.meta.name;
  MutexLock lock(mutex_);
  if (!Matches(now.meta.labels, options_.node_label_selector)) {
    Drop(name);
    return;
  }
  NodeState& state = nodes_[name];
  ReadCards(now, state);
  CheckHealth(name, state);
  Publish(name, state);
}

void Registrar::OnNodeGone(const std::string& name) {
  MutexLock lock(mutex_);
  Drop(name);
}

bool Registrar::Agrees(const kube::Node& now) const {
  NodeState state;
  {
    MutexLock lock(mutex_);
    if (const auto at = nodes_.find(now.meta.name); at != nodes_.end()) state = at->second;
  }
  if (Matches(now.meta.labels, options_.node_label_selector))
    ReadCards(now, state);
  else
    state = {};
  const std::vector<core::Device> cards = CardsOf(state);
  const std::optional<core::NodeUsage> registered = ledger_.Node(now.meta.name);
  return registered ? std::ranges::equal(registered->devices(), cards) : cards.empty();
}

void Registrar::Drop(const std::string& name) {
  if (nodes_.erase(name) != 0) ledger_.RemoveNode(name);
}

// The cards of every vendor. A text that cannot be read keeps the cards that
// were there before.
void Registrar::ReadCards(const kube::Node& node, NodeState& state) const {
  state.annotations.clear();
  state.allocatable.clear();
  state.vendors.resize(registry_.size());
  NodeReading reading = ReadNode(node, registry_);
  std::vector<std::vector<core::Device>> cards(registry_.size());
  for (core::Device& card : reading.inventory.devices)
    cards[card.vendor].push_back(std::move(card));
  for (const core::Vendor& vendor : registry_.vendors()) {
    const core::VendorSpec& spec = vendor.spec();
    for (const std::string_view key : {spec.node_register, spec.node_handshake})
      if (const std::string* text = Find(node.meta.annotations, key))
        state.annotations.emplace(key, *text);
    if (const std::string* count = Find(node.allocatable, vendor.config().count_name))
      state.allocatable.emplace(vendor.config().count_name, *count);

    VendorState& of_vendor = state.vendors[vendor.id()];
    const auto problem = std::find_if(
        reading.problems.begin(), reading.problems.end(),
        [&](const UnreadableVendor& unreadable) { return unreadable.vendor == vendor.id(); });
    if (problem == reading.problems.end()) {
      of_vendor.cards = std::move(cards[vendor.id()]);
      of_vendor.problem.clear();
    } else if (of_vendor.problem != problem->problem) {
      of_vendor.problem = problem->problem;
      log::Warn("Could not read a node's cards; those known before stay",
                {{"node", node.meta.name}, {"vendor", vendor.key()}, {"error", problem->problem}});
    }
  }
}

bool Registrar::WantsHandshake(const core::Vendor& vendor, const NodeState& state, WallTime now) {
  const core::VendorSpec& spec = vendor.spec();
  if (!TakesPart(spec, state.annotations)) return false;
  const std::string* text = Find(state.annotations, spec.node_handshake);
  const codec::Handshake handshake = codec::ParseHandshake(text);
  if (handshake.kind == codec::Handshake::Kind::kMissingOrForeign) return true;
  const bool from_the_future = handshake.kind == codec::Handshake::Kind::kRequesting &&
                               handshake.time > now + kHandshakeExpiry;
  return from_the_future || *text == state.vendors[vendor.id()].pardoned;
}

// Whether each vendor's cards are to be trusted, and what is to be done about
// it. True if that changed for a vendor.
bool Registrar::CheckHealth(const std::string& name, NodeState& state) {
  const WallTime now = clock_.Now();
  bool changed = false;
  for (const core::Vendor& vendor : registry_.vendors()) {
    const core::VendorSpec& spec = vendor.spec();
    if (spec.node_handshake.empty()) continue;
    VendorState& of_vendor = state.vendors[vendor.id()];
    const int64_t before = of_vendor.allocatable;
    of_vendor.allocatable = Count(state.allocatable, vendor.config().count_name);
    const std::string text = TextAt(state.annotations, spec.node_handshake);
    const codec::Handshake handshake =
        codec::ParseHandshake(Find(state.annotations, spec.node_handshake));
    const bool requested = handshake.kind == codec::Handshake::Kind::kRequesting;
    const bool answered =
        !text.empty() && handshake.kind == codec::Handshake::Kind::kMissingOrForeign;
    const std::string register_text = TextAt(state.annotations, spec.node_register);

    if (of_vendor.gone) {
      if (of_vendor.allocatable > 0 || (answered && text != of_vendor.gone_handshake) ||
          register_text != of_vendor.gone_register) {
        of_vendor.gone = false;
        of_vendor.pardoned = text;  // a new request gives it another minute
        changed = true;
      }
    } else if (of_vendor.allocatable == 0) {
      const bool asked = requested && text != of_vendor.pardoned;
      const WallTime expiry = handshake.time + kHandshakeExpiry;
      if ((spec.gone_without_allocatable && before > 0) || (asked && now >= expiry)) {
        of_vendor.gone = true;
        of_vendor.gone_register = register_text;
        of_vendor.gone_handshake = text;
        changed = true;
        if (!of_vendor.cards.empty())
          log::Warn("Took a node's cards out: its device plugin does not answer",
                    {{"node", name}, {"vendor", vendor.key()}});
      } else if (asked) {
        due_.emplace(expiry, name);
      }
    }
    if (WantsHandshake(vendor, state, now) && !state.queued) {
      state.queued = true;
      queue_.push_back(name);
      changed_.NotifyAll();
    }
  }
  return changed;
}

// What a decision may see of them.
std::vector<core::Device> Registrar::CardsOf(const NodeState& state) {
  std::vector<core::Device> cards;
  for (const VendorState& of_vendor : state.vendors)
    if (!of_vendor.gone) cards.insert(cards.end(), of_vendor.cards.begin(), of_vendor.cards.end());
  return cards;
}

void Registrar::Publish(const std::string& name, NodeState& state) {
  ledger_.SetNode({name, CardsOf(state)});
  TellOfFailedCards(name, state);
}

void Registrar::TellOfFailedCards(const std::string& name, NodeState& state) {
  auto failed = ledger_.FailedCards(name);
  for (const auto& card : failed) {
    if (std::ranges::count(state.failed, card) > 0) continue;
    const std::string what = std::string(registry_[card.vendor].key()) + " card " + card.device_id +
                             " of node " + name +
                             (card.gone ? " is not registered any more" : " is not healthy");
    record_(card.pod, /*warning=*/true, "DeviceFailed", what);
    log::Warn("A card failed under a pod", {{"pod", Display(card.pod)}, {"problem", what}});
  }
  state.failed = std::move(failed);
}

void Registrar::ExpireDue() {
  MutexLock lock(mutex_);
  while (!due_.empty() && due_.begin()->first <= clock_.Now()) {
    const std::string name = due_.begin()->second;
    due_.erase(due_.begin());
    const auto at = nodes_.find(name);
    if (at != nodes_.end() && CheckHealth(name, at->second)) Publish(name, at->second);
  }
  if (!Idle()) changed_.NotifyAll();
}

void Registrar::Start() {
  thread_ = std::thread([this] {
    for (;;) {
      {
        MutexLock lock(mutex_);
        while (Idle() && !stopping_) changed_.Wait(mutex_);
        if (stopping_) return;
      }
      WriteNextHandshake();
    }
  });
}

void Registrar::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void Registrar::WriteHandshakes() {
  while (WriteNextHandshake()) {
  }
}

bool Registrar::WriteNextHandshake() {
  std::string name;
  kube::MetadataPatch patch;
  {
    MutexLock lock(mutex_);
    if (Idle()) return false;
    name = std::move(queue_.front());
    queue_.pop_front();
    const auto at = nodes_.find(name);
    if (at == nodes_.end()) return true;
    at->second.queued = false;
    const WallTime now = clock_.Now();
    for (const core::Vendor& vendor : registry_.vendors())
      if (WantsHandshake(vendor, at->second, now))
        patch.annotations.emplace(vendor.spec().node_handshake, codec::FormatHandshake(now));
  }
  if (patch.annotations.empty()) return true;
  const Result<kube::Node> patched =
      api_.PatchNode(name, patch.ToJson(), {kube::Lane::kBackground, SteadyTime::max()});
  if (patched || patched.error().code == ErrorCode::kNotFound) return true;
  log::Debug(2, "Could not write a handshake; it will be tried again",
             {{"node", name}, {"error", patched.error().message}});
  MutexLock lock(mutex_);
  due_.emplace(clock_.Now() + kHandshakeRetry, name);
  return true;
}

}  // namespace aliquot::scheduler
