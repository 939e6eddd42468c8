/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Names of the I/O modes, and transfers over a kernel that does part of what it is asked, is
 * interrupted, or refuses.
 */
/* wrap: pwritev2 pwritev64v2 preadv2 preadv64v2 */
#include "strategy.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel_abi.h"
#include "mock.h"
#include "unit.h"

#define DATA_MAX 8192

static char data[DATA_MAX]; /* what is written */
static char back[DATA_MAX]; /* what is read */

static void setup(void)
{
	mock_reset();
	for (int i = 0; i < DATA_MAX; i++)
		data[i] = (char)(i * 7 + i / 251 + 1);
	memset(back, 0, sizeof(back));
}

static int scratch_file(void)
{
	int fd = memfd_create("strategy", MFD_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	return fd;
}

static struct io_request request(const struct iovec *iov, int count, uint64_t offset)
{
	return (struct io_request){ .iov = iov, .iov_count = count, .offset = offset };
}

static struct iovec vector(char *base, size_t len)
{
	return (struct iovec){ .iov_base = base, .iov_len = len };
}

/* @len bytes of data[] at @offset of the file */
static void check_file(int fd, uint64_t offset, size_t len)
{
	memset(back, 0, sizeof(back));
	CU_ASSERT_EQUAL(pread(fd, back, DATA_MAX, (off_t)offset), (ssize_t)len);
	CU_ASSERT_EQUAL(memcmp(back, data, len), 0);
}

static void names_parse_back(void)
{
	enum io_mode mode = IO_MODE_COUNT;

	for (int i = 0; i < IO_MODE_COUNT; i++) {
		CU_ASSERT_EQUAL(io_mode_parse(io_mode_name((enum io_mode)i), &mode), 0);
		CU_ASSERT_EQUAL((int)mode, i);
	}
	CU_ASSERT_STRING_EQUAL(io_mode_name(IO_MODE_DONTCACHE), "Dontcache");
	CU_ASSERT_EQUAL(io_mode_parse("rANGE", &mode), 0);
	CU_ASSERT_EQUAL(mode, IO_MODE_RANGE);
	CU_ASSERT_EQUAL(io_mode_parse("Rang", &mode), -EINVAL);
	CU_ASSERT_EQUAL(io_mode_parse("", &mode), -EINVAL);
	CU_ASSERT_EQUAL(mode, IO_MODE_RANGE);
	CU_ASSERT_STRING_EQUAL(io_mode_name(IO_MODE_COUNT), "invalid");
}

static void whole_write_is_one_call(void)
{
	struct iovec iov[3] = { vector(data, 100), vector(data + 100, 1), vector(data + 101, 50) };
	struct io_request req = request(iov, 3, 4096);
	int fd = scratch_file();

	CU_ASSERT_EQUAL(io_transfer_write(fd, &req, RWF_DSYNC), 151);
	CU_ASSERT_EQUAL(mock_calls(MOCK_PWRITEV2), 1);
	CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 0).flags, RWF_DSYNC);
	CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 0).offset, 4096);
	CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 0).count, 3);
	check_file(fd, 4096, 151);
	close(fd);
}

/* Every length that a first short write can have, over vectors of uneven sizes */
static void short_write_goes_on_at_any_byte(void)
{
	struct iovec iov[5] = { vector(data, 3), vector(data + 3, 0), vector(data + 3, 1),
				vector(data + 4, 20), vector(data + 24, 7) };
	struct iovec before[5];
	struct io_request req = request(iov, 5, 10);

	memcpy(before, iov, sizeof(iov));
	for (size_t part = 1; part < 31; part++) {
		int fd = scratch_file();

		mock_reset();
		mock_push_part(MOCK_PWRITEV2, part);
		CU_ASSERT_EQUAL(io_transfer_write(fd, &req, 0), 31);
		check_file(fd, 10, 31);
		CU_ASSERT(mock_calls(MOCK_PWRITEV2) <= 3);
		CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 1).offset, 10 + part);
		close(fd);
	}
	CU_ASSERT_EQUAL(memcmp(before, iov, sizeof(iov)), 0);
}

static void interrupted_call_is_repeated(void)
{
	struct iovec iov = vector(data, 1000);
	struct io_request req = request(&iov, 1, 0);
	int fd = scratch_file();

	mock_push_times(MOCK_PWRITEV2, 3, -1, EINTR);
	mock_push_part(MOCK_PWRITEV2, 400);
	mock_fail(MOCK_PWRITEV2, EINTR);
	CU_ASSERT_EQUAL(io_transfer_write(fd, &req, 0), 1000);
	CU_ASSERT_EQUAL(mock_calls(MOCK_PWRITEV2), 6);
	check_file(fd, 0, 1000);
	mock_fail(MOCK_PREADV2, EINTR);
	iov = vector(back, 1000);
	CU_ASSERT_EQUAL(io_transfer_read(fd, &req, 0), 1000);
	close(fd);
}

static void other_errors_come_up_at_once(void)
{
	const int error[] = { EOPNOTSUPP, EPERM, ENOSYS, EAGAIN, EIO, ENOSPC, EDQUOT, EFBIG };
	struct iovec iov = vector(data, 1000);
	struct io_request req = request(&iov, 1, 0);

	for (size_t i = 0; i < sizeof(error) / sizeof(error[0]); i++) {
		mock_reset();
		mock_fail(MOCK_PWRITEV2, error[i]);
		CU_ASSERT_EQUAL(io_transfer_write(-1, &req, RWF_DONTCACHE), -error[i]);
		CU_ASSERT_EQUAL(mock_calls(MOCK_PWRITEV2), 1);
		mock_fail(MOCK_PREADV2, error[i]);
		CU_ASSERT_EQUAL(io_transfer_read(-1, &req, RWF_DONTCACHE), -error[i]);
		CU_ASSERT_EQUAL(mock_calls(MOCK_PREADV2), 1);
	}
}

static void error_after_a_part_shows_at_the_next_call(void)
{
	struct iovec iov = vector(data, 1000);
	struct io_request req = request(&iov, 1, 0);
	int fd = scratch_file();

	mock_push_part(MOCK_PWRITEV2, 600);
	mock_push_times(MOCK_PWRITEV2, 2, -1, ENOSPC);
	CU_ASSERT_EQUAL(io_transfer_write(fd, &req, 0), 600);
	check_file(fd, 0, 600);
	req.offset = 600;
	CU_ASSERT_EQUAL(io_transfer_write(fd, &req, 0), -ENOSPC);
	CU_ASSERT_EQUAL(mock_pending(MOCK_PWRITEV2), 0);
	close(fd);
}

static void write_without_progress_is_an_error(void)
{
	struct iovec iov = vector(data, 1000);
	struct io_request req = request(&iov, 1, 0);
	int fd = scratch_file();

	mock_push(MOCK_PWRITEV2, 0, 0);
	CU_ASSERT_EQUAL(io_transfer_write(fd, &req, 0), -EIO);
	mock_push_part(MOCK_PWRITEV2, 10);
	mock_push(MOCK_PWRITEV2, 0, 0);
	CU_ASSERT_EQUAL(io_transfer_write(fd, &req, 0), 10);
	close(fd);
}

static void nothing_asked_makes_no_call(void)
{
	struct iovec iov[2] = { vector(data, 0), vector(NULL, 0) };
	struct io_request req = request(iov, 2, 5);

	CU_ASSERT_EQUAL(io_transfer_write(-1, &req, 0), 0);
	CU_ASSERT_EQUAL(io_transfer_read(-1, &req, 0), 0);
	req.iov_count = 0;
	CU_ASSERT_EQUAL(io_transfer_write(-1, &req, 0), 0);
	CU_ASSERT_EQUAL(io_transfer_read(-1, &req, 0), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_PWRITEV2), 0);
	CU_ASSERT_EQUAL(mock_calls(MOCK_PREADV2), 0);
}

static void many_vectors_are_split(void)
{
	static struct iovec iov[2 * IOV_MAX + 500];
	const int count = 2 * IOV_MAX + 500;
	struct io_request req = request(iov, count, 0);
	int fd = scratch_file();

	for (int i = 0; i < count; i++)
		iov[i] = vector(data + i, 1);
	CU_ASSERT_EQUAL(io_transfer_write(fd, &req, 0), count);
	CU_ASSERT_EQUAL(mock_calls(MOCK_PWRITEV2), 3);
	CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 1).count, IOV_MAX);
	CU_ASSERT_EQUAL(mock_record(MOCK_PWRITEV2, 2).count, 500);
	check_file(fd, 0, (size_t)count);
	close(fd);
}

/* A call of nothing but empty vectors would return 0, which must not look like the end */
static void empty_vectors_are_no_end(void)
{
	static struct iovec iov[3 * IOV_MAX];
	struct io_request req = request(iov, 3 * IOV_MAX, 0);
	int fd = scratch_file();

	for (int i = 0; i < 3 * IOV_MAX; i++)
		iov[i] = vector(data, 0);
	iov[0] = vector(data, 5);
	iov[3 * IOV_MAX - 1] = vector(data + 5, 6);
	CU_ASSERT_EQUAL(io_transfer_write(fd, &req, 0), 11);
	check_file(fd, 0, 11);
	memset(back, 0, sizeof(back));
	iov[0] = vector(back, 5);
	iov[3 * IOV_MAX - 1] = vector(back + 5, 6);
	CU_ASSERT_EQUAL(io_transfer_read(fd, &req, 0), 11);
	CU_ASSERT_EQUAL(memcmp(back, data, 11), 0);
	iov[0] = vector(back, 0);
	CU_ASSERT_EQUAL(io_transfer_read(fd, &req, 0), 6);
	iov[3 * IOV_MAX - 1] = vector(data, 6);
	CU_ASSERT_EQUAL(io_transfer_write(fd, &req, 0), 6);
	close(fd);
}

/* -1 would be the file position and other large offsets negative */
static void offsets_beyond_off_t(void)
{
	const uint64_t beyond[] = { UINT64_MAX, (uint64_t)INT64_MAX + 1 };
	struct iovec iov = vector(data, 100);
	struct io_request req = request(&iov, 1, 0);

	for (int i = 0; i < 2; i++) {
		req.offset = beyond[i];
		CU_ASSERT_EQUAL(io_transfer_write(-1, &req, 0), -EFBIG);
		CU_ASSERT_EQUAL(io_transfer_read(-1, &req, 0), 0);
	}
	req.offset = INT64_MAX - 99;
	CU_ASSERT_EQUAL(io_transfer_write(-1, &req, 0), -EFBIG);
	CU_ASSERT_EQUAL(mock_calls(MOCK_PWRITEV2) + mock_calls(MOCK_PREADV2), 0);
	mock_push(MOCK_PREADV2, 0, 0);
	CU_ASSERT_EQUAL(io_transfer_read(-1, &req, 0), 0);
	CU_ASSERT_EQUAL(mock_record(MOCK_PREADV2, 0).len, 99);
	mock_push(MOCK_PWRITEV2, 99, 0);
	iov.iov_len = 99;
	CU_ASSERT_EQUAL(io_transfer_write(-1, &req, 0), 99);
}

static void read_stops_at_the_end_of_file(void)
{
	struct iovec iov[2] = { vector(back, 60), vector(back + 60, 100) };
	struct io_request req = request(iov, 2, 0);
	int fd = scratch_file();

	CU_ASSERT_EQUAL(pwrite(fd, data, 100, 0), 100);
	mock_push_part(MOCK_PREADV2, 1);
	CU_ASSERT_EQUAL(io_transfer_read(fd, &req, 0), 100);
	CU_ASSERT_EQUAL(memcmp(back, data, 100), 0);
	req.offset = 100;
	CU_ASSERT_EQUAL(io_transfer_read(fd, &req, 0), 0);
	req.offset = 0;
	mock_push_part(MOCK_PREADV2, 30);
	mock_fail(MOCK_PREADV2, EIO);
	CU_ASSERT_EQUAL(io_transfer_read(fd, &req, 0), 30);
	close(fd);
}

static size_t random_vectors(struct iovec *iov, int count, char *base, uint64_t *seed)
{
	size_t used = 0;

	for (int i = 0; i < count; i++) {
		size_t len = unit_below(seed, 3) == 0 ? 0 : unit_below(seed, DATA_MAX / 64);

		iov[i] = vector(base + used, len);
		used += len;
	}
	return used;
}

static void random_transfers_move_every_byte(void)
{
	uint64_t seed = 4711;

	for (int round = 0; round < 2000; round++) {
		int count = 1 + (int)unit_below(&seed, 64);
		struct iovec iov[64];
		struct io_request req = request(iov, count, unit_below(&seed, 100));
		size_t len = random_vectors(iov, count, data, &seed);
		int fd = scratch_file();

		mock_reset();
		for (int i = 0; i < 8; i++) {
			mock_push_part(MOCK_PWRITEV2, 1 + unit_below(&seed, 300));
			mock_push_part(MOCK_PREADV2, 1 + unit_below(&seed, 300));
		}
		CU_ASSERT_EQUAL(io_transfer_write(fd, &req, 0), (ssize_t)len);
		if (len > 0)
			check_file(fd, req.offset, len);
		memset(back, 0, sizeof(back));
		for (int i = 0; i < count; i++)
			iov[i].iov_base = back + ((char *)iov[i].iov_base - data);
		CU_ASSERT_EQUAL(io_transfer_read(fd, &req, 0), (ssize_t)len);
		CU_ASSERT_EQUAL(memcmp(back, data, len), 0);
		close(fd);
	}
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "names parse back", names_parse_back },
		{ "whole write is one call", whole_write_is_one_call },
		{ "short write goes on at any byte", short_write_goes_on_at_any_byte },
		{ "interrupted call is repeated", interrupted_call_is_repeated },
		{ "other errors come up at once", other_errors_come_up_at_once },
		{ "error after a part shows at the next call",
		  error_after_a_part_shows_at_the_next_call },
		{ "write without progress is an error", write_without_progress_is_an_error },
		{ "nothing asked makes no call", nothing_asked_makes_no_call },
		{ "many vectors are split", many_vectors_are_split },
		{ "empty vectors are no end", empty_vectors_are_no_end },
		{ "offsets beyond off_t", offsets_beyond_off_t },
		{ "read stops at the end of file", read_stops_at_the_end_of_file },
		{ "random transfers move every byte", random_transfers_move_every_byte },
		CU_TEST_INFO_NULL,
	};

	return unit_run("strategy", setup, tests);
}
