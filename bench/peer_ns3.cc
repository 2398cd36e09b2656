// peer_ns3: packets forwarded by ns-3 over the wiring that standard input gives, for bench/sim.c.
//
//     peer_ns3 PACKETS SIZE NSEC < WIRING
//
// Every node sends PACKETS packets of SIZE bytes per second to random other nodes, for NSEC of
// simulated time over links of 1 Gb/s and 1 us. The forwarding is the least that ns-3 allows: no IP,
// only a table of next ports at each node, on ns-3's own links, queues and packets. Prints the
// number of hops and the seconds of processor time that they took.

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

namespace
{

const uint16_t PROTOCOL = 0x0800; // a point-to-point link carries only what PPP names
const uint64_t RATE = 1000000000;

struct Wiring {
    unsigned nodes = 0;
    std::vector<std::vector<unsigned>> neighbours; // of each node, by device
    std::vector<std::vector<uint8_t>> next;        // of each node: the device towards each other
};

struct Network {
    Wiring wiring;
    NodeContainer nodes;
    std::vector<std::vector<Ptr<NetDevice>>> devices;
    std::mt19937_64 random{1};
    uint64_t hops = 0, delivered = 0;
    unsigned size = 0;
    Time period;
};

Network network;

// The destination of a packet: its first four bytes.
class Target : public Header
{
  public:
    explicit Target(uint32_t node = 0) : m_node(node) {}
    static TypeId GetTypeId()
    {
        static TypeId id = TypeId("Target").SetParent<Header>().AddConstructor<Target>();
        return id;
    }
    TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    void Print(std::ostream &out) const override { out << m_node; }
    uint32_t GetSerializedSize() const override { return 4; }
    void Serialize(Buffer::Iterator at) const override { at.WriteHtonU32(m_node); }
    uint32_t Deserialize(Buffer::Iterator at) override
    {
        m_node = at.ReadNtohU32();
        return 4;
    }
    uint32_t m_node;
};

void Forward(unsigned node, unsigned target, Ptr<Packet> packet)
{
    Ptr<NetDevice> device = network.devices[node][network.wiring.next[node][target]];
    device->Send(packet, device->GetBroadcast(), PROTOCOL);
}

bool Receive(unsigned node, Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t, const Address &)
{
    Target target;
    packet->PeekHeader(target);
    network.hops++;
    if (target.m_node == node)
        network.delivered++;
    else
        Forward(node, target.m_node, packet->Copy());
    return true;
}

void Send(unsigned node)
{
    unsigned target = static_cast<unsigned>(network.random() % (network.wiring.nodes - 1));
    target += target >= node;
    Ptr<Packet> packet = Create<Packet>(network.size - 4);
    packet->AddHeader(Target(target));
    Forward(node, target, packet);
    Simulator::Schedule(network.period, &Send, node);
}

// Breadth first from each target.
void FindNext(Wiring &wiring)
{
    wiring.next.assign(wiring.nodes, std::vector<uint8_t>(wiring.nodes, 0));
    for (unsigned target = 0; target < wiring.nodes; target++) {
        std::vector<bool> seen(wiring.nodes, false);
        std::vector<unsigned> order{target};
        seen[target] = true;
        for (size_t i = 0; i < order.size(); i++)
            for (unsigned other : wiring.neighbours[order[i]]) {
                if (seen[other])
                    continue;
                seen[other] = true;
                order.push_back(other);
                for (size_t device = 0; device < wiring.neighbours[other].size(); device++)
                    if (wiring.neighbours[other][device] == order[i])
                        wiring.next[other][target] = static_cast<uint8_t>(device);
            }
    }
}

bool Build()
{
    unsigned links, a, b;
    Wiring &wiring = network.wiring;
    if (std::scanf("%u %u", &wiring.nodes, &links) != 2)
        return false;
    wiring.neighbours.resize(wiring.nodes);
    network.devices.resize(wiring.nodes);
    network.nodes.Create(wiring.nodes);
    PointToPointHelper helper;
    helper.SetDeviceAttribute("DataRate", DataRateValue(DataRate(RATE)));
    helper.SetDeviceAttribute("Mtu", UintegerValue(9000));
    helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(1000)));
    for (unsigned i = 0; i < links; i++) {
        if (std::scanf("%u %u", &a, &b) != 2)
            return false;
        NetDeviceContainer ends = helper.Install(network.nodes.Get(a), network.nodes.Get(b));
        network.devices[a].push_back(ends.Get(0));
        network.devices[b].push_back(ends.Get(1));
        wiring.neighbours[a].push_back(b);
        wiring.neighbours[b].push_back(a);
    }
    FindNext(wiring);
    for (unsigned node = 0; node < wiring.nodes; node++)
        for (Ptr<NetDevice> &device : network.devices[node])
            device->SetReceiveCallback(MakeBoundCallback(&Receive, node));
    return true;
}

double ProcessorSeconds()
{
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

} // namespace

int main(int count, char **words)
{
    if (count != 4)
        return 2;
    double packets = std::atof(words[1]);
    network.size = static_cast<unsigned>(std::atoi(words[2]));
    network.period = NanoSeconds(static_cast<uint64_t>(1e9 / packets));
    if (packets <= 0 || network.size < 8 || !Build())
        return 2;
    for (unsigned node = 0; node < network.wiring.nodes; node++)
        Simulator::Schedule(NanoSeconds(network.random() % static_cast<uint64_t>(1e9 / packets)),
                            &Send, node);
    Simulator::Stop(NanoSeconds(std::strtoull(words[3], nullptr, 10)));
    double start = ProcessorSeconds();
    Simulator::Run();
    double seconds = ProcessorSeconds() - start;
    std::printf("%llu %llu %.9f\n", static_cast<unsigned long long>(network.hops),
                static_cast<unsigned long long>(network.delivered), seconds);
    Simulator::Destroy();
    return 0;
}
