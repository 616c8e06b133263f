// SPDX-License-Identifier: Apache-2.0
//
// The cost of hooks in a static llama.cpp, to the microsecond. One process under the recorder
// evaluates the same token again and again, with its jumps to the hooks in place and taken away, in
// turns. The jumps are whatever differs between its code in memory and in its file. One thread, so
// nobody is in them. Both kinds of steps pay for what the recorder does on other CPUs.
// bench/static.py builds and runs it. Run as: PROGRAM MODEL PAIRS; prints us of CPU time: a token
// without, the difference, and half of its 95 % interval.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>
#include "llama.h"

enum { STEPS = 5, BEFORE = 2, CONTEXT = 64 };

struct place {
	unsigned char *at, hooked, plain;
};

static std::vector<place> places;

static int find_code(dl_phdr_info *info, size_t, void *)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) &p = info->dlpi_phdr[i];
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		std::vector<unsigned char> file(p.p_filesz);
		auto *memory = (unsigned char *)(info->dlpi_addr + p.p_vaddr);
		if (pread(fd, file.data(), file.size(), (off_t)p.p_offset) != (ssize_t)file.size())
			exit(3);
		for (size_t b = 0; b < file.size(); b++)
			if (memory[b] != file[b])
				places.push_back({memory + b, memory[b], file[b]});
		uintptr_t page = (uintptr_t)memory & ~(uintptr_t)4095;
		if (!places.empty() &&
			mprotect((void *)page, (uintptr_t)memory + file.size() - page,
				PROT_READ | PROT_WRITE | PROT_EXEC))
			exit(3);
	}
	close(fd);
	return 1; // the first is the program
}

static void hook(bool is_hooked)
{
	for (const place &p : places)
		*p.at = is_hooked ? p.hooked : p.plain;
}

static double cpu_us()
{
	timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void decode(llama_context *context, llama_token *tokens, int count)
{
	if (llama_decode(context, llama_batch_get_one(tokens, count)))
		exit(1);
}

static double shortest_us(llama_context *context, bool is_hooked)
{
	double shortest = INFINITY;

	hook(is_hooked);
	for (int i = 0; i < BEFORE + STEPS; i++) {
		llama_token token = 7;
		llama_memory_seq_rm(llama_get_memory(context), 0, CONTEXT, -1);
		double begin = cpu_us();
		decode(context, &token, 1);
		double us = cpu_us() - begin;
		if (i >= BEFORE && us < shortest)
			shortest = us;
	}
	return shortest;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
	llama_model *model = llama_model_load_from_file(argv[1], llama_model_default_params());
	llama_context_params params = llama_context_default_params();
	params.n_ctx = params.n_batch = 512;
	params.n_threads = params.n_threads_batch = 1;
	llama_context *context = model ? llama_init_from_model(model, params) : nullptr;
	std::vector<llama_token> prompt(CONTEXT, 5);
	if (!context)
		return 1;
	decode(context, prompt.data(), CONTEXT);
	dl_iterate_phdr(find_code, nullptr);
	std::vector<double> plain, differences;
	for (int i = 0; i < atoi(argv[2]); i++) {
		double us[2];
		bool first = rand() & 1;
		us[first] = shortest_us(context, first);
		us[!first] = shortest_us(context, !first);
		plain.push_back(us[0]);
		differences.push_back(us[1] - us[0]);
	}
	hook(true);
	std::sort(plain.begin(), plain.end());
	std::sort(differences.begin(), differences.end());
	size_t n = differences.size();
	auto quantile = [&](double q) { return differences[(size_t)(q * (double)(n - 1))]; };
	double half = 0.98 / std::sqrt((double)n); // of the median's rank
	printf("%zu bytes of jumps; %.1f us, %.2f +- %.2f us\n", places.size(), plain[n / 2],
		quantile(0.5),
		(quantile(std::min(1.0, 0.5 + half)) - quantile(std::max(0.0, 0.5 - half))) / 2);
	return 0;
}
