/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Sizes that exports offered survive a restart, one export's change leaves the others alone, and a
 * damaged or missing file costs what it held, nothing else.
 */
#include "size_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static char folder[] = "/tmp/size-store.XXXXXX";
static char path[64];
static uint64_t sizes[SIZE_DIRECTIONS];

static void setup(void)
{
	snprintf(path, sizeof(path), "%s/sizes", folder);
	unlink(path);
}

static void expect(uint16_t export_id, uint64_t read, uint64_t write)
{
	CU_ASSERT_EQUAL(size_store_get(path, export_id, sizes), 0);
	CU_ASSERT_EQUAL(sizes[SIZE_READ], read);
	CU_ASSERT_EQUAL(sizes[SIZE_WRITE], write);
}

static void put(uint16_t export_id, uint64_t read, uint64_t write)
{
	const uint64_t offered[SIZE_DIRECTIONS] = { [SIZE_READ] = read, [SIZE_WRITE] = write };

	CU_ASSERT_EQUAL(size_store_put(path, export_id, offered), 0);
}

static void unknown_is_zero(void)
{
	expect(1, 0, 0);
	put(2, 1048576, 2097152);
	expect(1, 0, 0);
}

static void the_last_offer_counts(void)
{
	put(1, 1048576, 1048576);
	put(65535, 512, 67108864);
	put(1, 8388608, 4194304);
	expect(1, 8388608, 4194304);
	expect(65535, 512, 67108864);
}

static void damage_costs_a_line(void)
{
	FILE *file = fopen(path, "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs("1 1048576 2097152\nnonsense\n\n2 4 \n3 -1 x\n4 512 512\n", file);
	fclose(file);
	expect(1, 1048576, 2097152);
	expect(2, 0, 0);
	put(5, 1024, 1024);
	expect(1, 1048576, 2097152);
	expect(4, 512, 512);
	expect(5, 1024, 1024);
}

static void a_failure_leaves_the_old_file(void)
{
	char fresh[80];

	put(1, 1048576, 1048576);
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	CU_ASSERT_EQUAL_FATAL(mkdir(fresh, 0700), 0);
	CU_ASSERT_EQUAL(size_store_put(path, 1, sizes), -EISDIR);
	CU_ASSERT_EQUAL(rmdir(fresh), 0);
	expect(1, 1048576, 1048576);
	CU_ASSERT_EQUAL(size_store_get(folder, 1, sizes), 0); /* a folder has no lines */
	CU_ASSERT_EQUAL(size_store_put("/nonexistent/sizes", 1, sizes), -ENOENT);
}

int main(void)
{
	static CU_TestInfo tests[] = {
		{ "unknown is zero", unknown_is_zero },
		{ "the last offer counts", the_last_offer_counts },
		{ "damage costs a line", damage_costs_a_line },
		{ "a failure leaves the old file", a_failure_leaves_the_old_file },
		CU_TEST_INFO_NULL,
	};
	int rc;

	if (mkdtemp(folder) == NULL)
		return 1;
	rc = unit_run("size_store", setup, tests);
	unlink(path);
	rmdir(folder);
	return rc;
}
