/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Sizes and socket buffers: the arithmetic against its own inverse, every rule of sizes_offer(),
 * and /proc as other kernels and containers show it.
 */
#include "sizes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#define MIB UINT64_C(1048576)
#define REQUESTS 4
#define REQUESTS_MAX 64

static struct size_offer offer;

static uint64_t power(unsigned int bits)
{
	return UINT64_C(1) << bits;
}

/* ceiling for READ and WRITE alike */
static const struct size_offer *judge(enum size_direction direction, struct size_wish wish,
				      uint64_t ceiling, enum socket_check check)
{
	const struct size_rules rules = { .check = check, .requests = REQUESTS };
	struct size_ceilings ceilings = { .bytes = { ceiling, ceiling } };

	/* The other direction's ceiling must not matter */
	ceilings.bytes[direction == SIZE_READ ? SIZE_WRITE : SIZE_READ] = 1;
	memset(&offer, 0xaa, sizeof(offer));
	sizes_offer(direction, &wish, &ceilings, &rules, &offer);
	CU_ASSERT_EQUAL(offer.ceiling, ceiling);
	return &offer;
}

static struct size_wish asked(uint64_t max)
{
	return (struct size_wish){ .set = true, .max = max };
}

static uint64_t need(enum size_direction direction, uint64_t size)
{
	return sizes_needed(direction, size, REQUESTS);
}

static void needed_is_what_the_comment_says(void)
{
	CU_ASSERT_EQUAL(sizes_needed(SIZE_WRITE, MIB, 4), 4 * (MIB + 512) * 2);
	CU_ASSERT_EQUAL(sizes_needed(SIZE_READ, MIB, 4), (4 * (MIB + 512) * 113 + 99) / 100);
	CU_ASSERT_EQUAL(sizes_needed(SIZE_WRITE, 0, 1), 2 * SIZE_RPC_HEADER);
}

static void carried_is_the_inverse_of_needed(void)
{
	for (unsigned int direction = 0; direction < SIZE_DIRECTIONS; direction++)
		for (unsigned int requests = 1; requests <= REQUESTS_MAX; requests++)
			for (unsigned int bits = 9; bits <= 26; bits++) {
				uint64_t size = power(bits);
				uint64_t ceiling = sizes_needed(direction, size, requests);
				uint64_t below = size > SIZE_LIMIT_MIN ? size / 2 : 0;

				CU_ASSERT_EQUAL(sizes_carried(direction, ceiling, requests), size);
				CU_ASSERT_EQUAL(sizes_carried(direction, ceiling - 1, requests),
						below);
			}
}

static void any_ceiling_carries_the_largest_that_fits(void)
{
	uint64_t seed = 3;

	for (int i = 0; i < 200000; i++) {
		uint64_t ceiling = unit_random(&seed) >> (unit_below(&seed, 63) + 1);
		unsigned int requests = 1 + (unsigned int)unit_below(&seed, REQUESTS_MAX);
		enum size_direction direction = i % 2 ? SIZE_READ : SIZE_WRITE;
		uint64_t size = sizes_carried(direction, ceiling, requests);

		CU_ASSERT(size == 0 || sizes_needed(direction, size, requests) <= ceiling);
		CU_ASSERT(size == SIZE_LIMIT_MAX ||
			  sizes_needed(direction, size ? size * 2 : SIZE_LIMIT_MIN, requests) >
				  ceiling);
		CU_ASSERT(size == 0 || (size & (size - 1)) == 0);
	}
}

static void nothing_overflows(void)
{
	for (unsigned int direction = 0; direction < SIZE_DIRECTIONS; direction++) {
		uint64_t before = 0;

		for (unsigned int requests = 1; requests <= REQUESTS_MAX; requests++) {
			uint64_t bytes = sizes_needed(direction, SIZE_LIMIT_MAX, requests);

			CU_ASSERT(bytes > before);
			CU_ASSERT(bytes >= requests * (uint64_t)SIZE_LIMIT_MAX);
			CU_ASSERT(bytes <= 3 * requests * (uint64_t)SIZE_LIMIT_MAX);
			before = bytes;
		}
		CU_ASSERT_EQUAL(sizes_carried(direction, UINT64_MAX, REQUESTS_MAX), SIZE_LIMIT_MAX);
		CU_ASSERT_EQUAL(sizes_carried(direction, 0, 1), 0);
	}
	/* 8.6 GB: more than 32 bits hold */
	CU_ASSERT_EQUAL(sizes_needed(SIZE_WRITE, SIZE_LIMIT_MAX, 64), 128 * (64 * MIB + 512));
}

static void nothing_set_offers_what_fits_from_1_to_4_mib(void)
{
	const struct size_wish none = { .max = 99 };

	for (unsigned int d = 0; d < SIZE_DIRECTIONS; d++)
		for (unsigned int check = 0; check < SOCKET_CHECK_COUNT; check++) {
			CU_ASSERT_EQUAL(judge(d, none, need(d, 2 * MIB), check)->max, 2 * MIB);
			CU_ASSERT_FALSE(offer.is_short);
			CU_ASSERT_EQUAL(offer.needed, need(d, 2 * MIB));
			CU_ASSERT_EQUAL(judge(d, none, need(d, 4 * MIB) - 1, check)->max, 2 * MIB);
			CU_ASSERT_EQUAL(judge(d, none, need(d, 64 * MIB), check)->max, 4 * MIB);
			CU_ASSERT_FALSE(offer.is_short);
			CU_ASSERT_EQUAL(judge(d, none, 65536, check)->max, MIB);
			CU_ASSERT_EQUAL(offer.is_short, check != SOCKET_CHECK_OFF);
			CU_ASSERT_EQUAL(offer.needed, need(d, MIB));
			CU_ASSERT_FALSE(offer.refused);
		}
}

static void nothing_set_never_sinks(void)
{
	const struct size_wish before = { .in_force = 32 * MIB };

	CU_ASSERT_EQUAL(judge(SIZE_READ, before, 65536, SOCKET_CHECK_WARN)->max, 32 * MIB);
	CU_ASSERT_TRUE(offer.is_short);
	CU_ASSERT_EQUAL(offer.needed, need(SIZE_READ, 32 * MIB));
	CU_ASSERT_EQUAL(judge(SIZE_WRITE, (struct size_wish){ .in_force = MIB },
			      need(SIZE_WRITE, 4 * MIB), SOCKET_CHECK_CLAMP)
				->max,
			4 * MIB);
}

static void what_fits_is_served_whatever_the_check(void)
{
	for (unsigned int d = 0; d < SIZE_DIRECTIONS; d++)
		for (unsigned int check = 0; check < SOCKET_CHECK_COUNT; check++)
			for (unsigned int bits = 9; bits <= 26; bits++) {
				uint64_t size = power(bits), ceiling = need(d, size);

				CU_ASSERT_EQUAL(judge(d, asked(size), ceiling, check)->max, size);
				CU_ASSERT_FALSE(offer.is_short || offer.refused);
				CU_ASSERT_EQUAL(offer.needed, ceiling);
			}
}

static void warn_serves_what_was_asked(void)
{
	CU_ASSERT_EQUAL(judge(SIZE_READ, asked(8 * MIB), need(SIZE_READ, 8 * MIB) - 1,
			      SOCKET_CHECK_WARN)
				->max,
			8 * MIB);
	CU_ASSERT_TRUE(offer.is_short);
	CU_ASSERT_FALSE(offer.refused);
	CU_ASSERT_EQUAL(offer.needed, need(SIZE_READ, 8 * MIB));
}

static void off_says_nothing(void)
{
	CU_ASSERT_EQUAL(judge(SIZE_WRITE, asked(64 * MIB), 4096, SOCKET_CHECK_OFF)->max, 64 * MIB);
	CU_ASSERT_FALSE(offer.is_short);
	CU_ASSERT_FALSE(offer.refused);
}

static void refuse_refuses(void)
{
	judge(SIZE_WRITE, asked(8 * MIB), need(SIZE_WRITE, 8 * MIB) - 1, SOCKET_CHECK_REFUSE);
	CU_ASSERT_TRUE(offer.is_short);
	CU_ASSERT_TRUE(offer.refused);
	judge(SIZE_WRITE, asked(8 * MIB), need(SIZE_WRITE, 8 * MIB), SOCKET_CHECK_REFUSE);
	CU_ASSERT_FALSE(offer.refused);
}

static void clamp_serves_the_largest_that_fits(void)
{
	for (unsigned int d = 0; d < SIZE_DIRECTIONS; d++) {
		CU_ASSERT_EQUAL(
			judge(d, asked(64 * MIB), need(d, 16 * MIB), SOCKET_CHECK_CLAMP)->max,
			16 * MIB);
		CU_ASSERT_TRUE(offer.is_short);
		CU_ASSERT_FALSE(offer.refused);
		CU_ASSERT_EQUAL(offer.needed, need(d, 64 * MIB));
	}
}

static void clamp_has_floors_and_a_cap(void)
{
	struct size_wish wish = asked(64 * MIB);

	CU_ASSERT_EQUAL(judge(SIZE_READ, wish, 4096, SOCKET_CHECK_CLAMP)->max, MIB);
	wish.in_force = 32 * MIB;
	CU_ASSERT_EQUAL(judge(SIZE_READ, wish, 4096, SOCKET_CHECK_CLAMP)->max, 32 * MIB);
	CU_ASSERT_TRUE(offer.is_short);
	wish.max = 8 * MIB;
	CU_ASSERT_EQUAL(judge(SIZE_READ, wish, 4096, SOCKET_CHECK_CLAMP)->max, 8 * MIB);
	CU_ASSERT_EQUAL(judge(SIZE_READ, asked(65536), 4096, SOCKET_CHECK_CLAMP)->max, 65536);
	/* Not a power of two, and it fits: served as asked */
	CU_ASSERT_EQUAL(
		judge(SIZE_READ, asked(3000000), need(SIZE_READ, 4 * MIB), SOCKET_CHECK_CLAMP)->max,
		3000000);
	CU_ASSERT_FALSE(offer.is_short);
}

/* Fits, though the next power of two below it is what sizes_carried() says */
static void clamp_leaves_what_just_fits(void)
{
	CU_ASSERT_EQUAL(
		judge(SIZE_READ, asked(3000000), need(SIZE_READ, 3000000), SOCKET_CHECK_CLAMP)->max,
		3000000);
	CU_ASSERT_FALSE(offer.is_short);
}

static void the_checks_have_names(void)
{
	static const char *const nonsense[] = { "", "Warning", "warn ", "0", "on" };
	enum socket_check check;

	for (unsigned int i = 0; i < SOCKET_CHECK_COUNT; i++) {
		check = SOCKET_CHECK_COUNT;
		CU_ASSERT_EQUAL(socket_check_parse(socket_check_name(i), &check), 0);
		CU_ASSERT_EQUAL(check, i);
	}
	CU_ASSERT_EQUAL(socket_check_parse("cLAMP", &check), 0);
	CU_ASSERT_EQUAL(check, SOCKET_CHECK_CLAMP);
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
		CU_ASSERT_EQUAL(socket_check_parse(nonsense[i], &check), -EINVAL);
	CU_ASSERT_EQUAL(check, SOCKET_CHECK_CLAMP);
	CU_ASSERT_STRING_EQUAL(socket_check_name(SOCKET_CHECK_COUNT), "invalid");
	CU_ASSERT_STRING_EQUAL(size_sysctl(SIZE_READ), "net.ipv4.tcp_wmem");
	CU_ASSERT_STRING_EQUAL(size_sysctl(SIZE_WRITE), "net.ipv4.tcp_rmem");
}

/* ---- a folder like /proc ---- */

static char proc[64];

static void proc_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/sys/net/ipv4/%s", proc, name);
	unlink(path);
	if (text == NULL)
		return;
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
}

static void proc_make(void)
{
	static const char *const below[] = { "sys", "sys/net", "sys/net/ipv4" };
	char path[128];

	snprintf(proc, sizeof(proc), "%s", "/tmp/test_sizes.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(proc));
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", proc, below[i]);
		CU_ASSERT_EQUAL_FATAL(mkdir(path, 0755), 0);
	}
}

static void proc_remove(void)
{
	static const char *const below[] = { "/sys/net/ipv4", "/sys/net", "/sys", "" };
	char path[128];

	proc_file("tcp_rmem", NULL);
	proc_file("tcp_wmem", NULL);
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s%s", proc, below[i]);
		CU_ASSERT_EQUAL(rmdir(path), 0);
	}
}

static void ceilings_come_from_proc(void)
{
	struct size_ceilings ceilings = { 0 };

	proc_make();
	proc_file("tcp_wmem", "4096\t16384\t4194304\n");
	proc_file("tcp_rmem", "4096\t131072\t2147483647\n");
	CU_ASSERT_EQUAL(sizes_ceilings_read(proc, &ceilings), 0);
	CU_ASSERT_EQUAL(ceilings.bytes[SIZE_READ], 4194304);
	CU_ASSERT_EQUAL(ceilings.bytes[SIZE_WRITE], 2147483647);
	CU_ASSERT_EQUAL(ceilings.min[SIZE_READ], 4096);
	CU_ASSERT_EQUAL(ceilings.initial[SIZE_READ], 16384);
	CU_ASSERT_EQUAL(ceilings.initial[SIZE_WRITE], 131072);
	CU_ASSERT_TRUE(ceilings.writable);
	proc_remove();
	CU_ASSERT_EQUAL(sizes_ceilings_read("/proc", &ceilings), 0);
	CU_ASSERT(ceilings.bytes[SIZE_READ] >= 1 && ceilings.bytes[SIZE_WRITE] >= 1);
}

static void malformed_ceilings_are_an_error(void)
{
	static const char *const bad[] = { "",
					   "\n",
					   "4096",
					   "4096 16384",
					   "a b c",
					   "4096 16384 x",
					   "1 2 -3",
					   "1 2 0",
					   "1,2,3",
					   "1 2 99999999999999999999",
					   "1 2 2147483648" };
	const struct size_ceilings untouched = { .bytes = { 7, 8 }, .writable = true };

	proc_make();
	for (size_t i = 0; i < 2 * sizeof(bad) / sizeof(bad[0]); i++) {
		struct size_ceilings ceilings = untouched;

		proc_file("tcp_rmem", i % 2 ? "1 2 3" : bad[i / 2]);
		proc_file("tcp_wmem", i % 2 ? bad[i / 2] : "1 2 3");
		CU_ASSERT_EQUAL(sizes_ceilings_read(proc, &ceilings), -EPROTO);
		CU_ASSERT_EQUAL(ceilings.bytes[SIZE_READ], 7);
		CU_ASSERT_EQUAL(ceilings.bytes[SIZE_WRITE], 8);
	}
	proc_file("tcp_wmem", "1 2 3");
	proc_file("tcp_rmem", NULL);
	CU_ASSERT_EQUAL(sizes_ceilings_read(proc, &(struct size_ceilings){ 0 }), -ENOENT);
	proc_remove();
	CU_ASSERT_EQUAL(sizes_ceilings_read(proc, &(struct size_ceilings){ 0 }), -ENOENT);
}

static void a_remedy_changes_only_the_ceiling(void)
{
	struct size_ceilings ceilings = {
		.bytes = { 4194304, 6291456 },
		.min = { 4096, 4097 },
		.initial = { 16384, 131072 },
		.writable = true,
	};
	char text[SIZE_REMEDY_TEXT];

	sizes_remedy(SIZE_WRITE, &ceilings, 8392704, text);
	CU_ASSERT_STRING_EQUAL(text, "sysctl -w net.ipv4.tcp_rmem=\"4097 131072 8392704\"");
	ceilings.writable = false;
	sizes_remedy(SIZE_READ, &ceilings, INT32_MAX, text);
	CU_ASSERT_PTR_EQUAL(strstr(text, "sysctl -w net.ipv4.tcp_wmem=\"4096 16384 2147483647\""),
			    text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "securityContext.sysctls"));
	sizes_remedy(SIZE_READ, &ceilings, UINT64_C(2147483648), text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "lower Socket_Requests or MaxRead"));
	CU_ASSERT_PTR_NULL(strstr(text, "sysctl -w"));
}

static void memory_is_the_worst_case(void)
{
	struct size_memory memory;

	sizes_memory(64 * MIB, 64 * MIB, 10000, &memory);
	CU_ASSERT_EQUAL(memory.per_connection, 64 * MIB + SIZE_RPC_HEADER);
	CU_ASSERT_EQUAL(memory.workers, UINT64_C(10000) * 128 * MIB);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "needed is what the comment says", needed_is_what_the_comment_says },
		{ "carried is the inverse of needed", carried_is_the_inverse_of_needed },
		{ "any ceiling carries the largest that fits",
		  any_ceiling_carries_the_largest_that_fits },
		{ "nothing overflows", nothing_overflows },
		{ "nothing set offers what fits from 1 to 4 MiB",
		  nothing_set_offers_what_fits_from_1_to_4_mib },
		{ "nothing set never sinks", nothing_set_never_sinks },
		{ "what fits is served whatever the check",
		  what_fits_is_served_whatever_the_check },
		{ "Warn serves what was asked", warn_serves_what_was_asked },
		{ "Off says nothing", off_says_nothing },
		{ "Refuse refuses", refuse_refuses },
		{ "Clamp serves the largest that fits", clamp_serves_the_largest_that_fits },
		{ "Clamp has floors and a cap", clamp_has_floors_and_a_cap },
		{ "Clamp leaves what just fits", clamp_leaves_what_just_fits },
		{ "the checks have names", the_checks_have_names },
		{ "ceilings come from proc", ceilings_come_from_proc },
		{ "malformed ceilings are an error", malformed_ceilings_are_an_error },
		{ "a remedy changes only the ceiling", a_remedy_changes_only_the_ceiling },
		{ "memory is the worst case", memory_is_the_worst_case },
		CU_TEST_INFO_NULL,
	};

	return unit_run("sizes", NULL, tests);
}
