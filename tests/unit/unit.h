/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * What every unit test program shares: running one CUnit suite, and a seeded random sequence that
 * is the same on every machine.
 */
#ifndef DROPBEHIND_TEST_UNIT_H
#define DROPBEHIND_TEST_UNIT_H

#include <CUnit/Basic.h>
#include <stddef.h>
#include <stdint.h>

/**
 * unit_run - run @tests (ended by CU_TEST_INFO_NULL) as suite @name, @setup before each of them.
 * Returns the exit status of the program: 0, or 1 if anything failed.
 */
static inline int unit_run(const char *name, CU_SetUpFunc setup, CU_TestInfo *tests)
{
	CU_SuiteInfo suites[] = {
		{ .pName = name, .pSetUpFunc = setup, .pTests = tests },
		CU_SUITE_INFO_NULL,
	};
	unsigned int failures;

	if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS) {
		fprintf(stderr, "CUnit: %s\n", CU_get_error_msg());
		return 1;
	}
	CU_basic_set_mode(CU_BRM_VERBOSE);
	CU_basic_run_tests();
	failures = CU_get_number_of_failures() + CU_get_number_of_suites_failed();
	CU_cleanup_registry();
	return failures == 0 ? 0 : 1;
}

/** unit_random - next of the sequence @state, which starts as any seed but 0 (xorshift64*). */
static inline uint64_t unit_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(0x2545F4914F6CDD1D);
}

/** unit_below - a number in 0..@limit-1. */
static inline uint64_t unit_below(uint64_t *state, uint64_t limit)
{
	return (unit_random(state) >> 11) % limit;
}

#endif
