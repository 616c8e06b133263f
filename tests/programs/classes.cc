/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of brick.hpp, left by return, by exception and by hand; prints what was counted. */
#include <cstdio>
#include <stdexcept>
#include "brick/brick.hpp"

static void part(int i)
{
	brick::span gate(BRICK_GATE_PROJECTION, 2);
	gate.elements(10).bytes(20).flops(30);
	if (i % 2)
		return;
	gate.elements(1).lap(BRICK_UP_PROJECTION);
	gate.flops(5);
	gate.lap(BRICK_ACTIVATION);
	if (i == 4)
		throw std::runtime_error("out");
	gate.end();
	gate.end();
}

/* Layers nest: what follows an inner scope is in the outer one's layer again. */
static void nested()
{
	brick::layer outer(5);
	{
		brick::layer inner(6);
		brick::span norm(BRICK_RMS_NORM);
	}
	brick::span norm(BRICK_LAYER_NORM);
	std::printf("timed %d\n", norm.end_ns() > 0 && norm.end_ns() == 0);
}

static void print(std::uint32_t id)
{
	brick_stats stats = BRICK_STATS_INIT;
	brick_stats_get(id, &stats);
	std::printf("%s %llu %llu %llu %llu\n", brick_name(id),
		static_cast<unsigned long long>(stats.count),
		static_cast<unsigned long long>(stats.elements),
		static_cast<unsigned long long>(stats.bytes),
		static_cast<unsigned long long>(stats.flops));
}

int main(int argc, char **argv)
{
	brick::session recording =
		argc > 1 ? brick::session(argv[1]) : brick::session::statistics();
	if (recording.error())
		return 1;
	brick::device device("null"), none("no such backend");
	std::printf("devices %d %d\n", device.error(), none.error() < 0);
	{
		brick::request request(0, 5, 42, brick_ticks());
		for (int i = 0; i < 10; i++) {
			brick::step step(BRICK_PHASE_DECODE, 1);
			step.sequence(0, 5, 0, 1, 1, 20 + i);
			brick::layer layer(i % 3);
			brick::device_span(device, nullptr, BRICK_LM_HEAD, 1).work(1, 2, 3);
			brick::device_span(none, nullptr, BRICK_SPMV).work(1, 2, 3);
			try {
				part(i);
			} catch (const std::runtime_error &) {
			}
		}
	}
	nested();
	for (std::uint32_t id :
		{BRICK_GATE_PROJECTION, BRICK_UP_PROJECTION, BRICK_ACTIVATION, BRICK_DECODE})
		print(id);
	brick_device_finish(device.get());
	brick_stats stats = BRICK_STATS_INIT;
	int error = brick_device_stats_get(BRICK_LM_HEAD, &stats);
	std::printf("on a queue %d %llu %llu\n", error,
		static_cast<unsigned long long>(stats.count),
		static_cast<unsigned long long>(stats.flops));
	brick_losses losses = BRICK_LOSSES_INIT;
	brick_losses_get(&losses);
	std::printf("unmatched %llu\n", static_cast<unsigned long long>(losses.unmatched));
	return recording.stop() < 0;
}
