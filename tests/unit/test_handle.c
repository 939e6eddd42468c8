/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Wire handles: the bytes FSAL_VFS puts on the wire, refusal of everything else, and handles of
 * real files. Decoders get buffers of exactly the length they are told, so that a sanitizer sees a
 * read beyond the end.
 */
/* wrap: open_by_handle_at name_to_handle_at */
#include "handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mock.h"
#include "unit.h"

static const uint8_t fsid_len[WIRE_FSID_TYPES] = { 0, 8, 8, 16, 8, 8 };
static const int kernel_type[] = { 0, 1, 0x81, 255, 256, 300, 32767, 32768, 0x10001, INT32_MAX };

#define KERNEL_TYPES (sizeof(kernel_type) / sizeof(kernel_type[0]))

static size_t type_bytes(int type)
{
	return type <= 255 ? 1 : type <= 32767 ? 2 : 4;
}

static struct wire_handle sample(uint8_t fsid_type, int type, unsigned int len)
{
	struct wire_handle h = { .fsid_type = fsid_type,
				 .fsid_len = fsid_len[fsid_type],
				 .kernel = { .type = type, .len = len } };

	for (unsigned int i = 0; i < h.fsid_len; i++)
		h.fsid[i] = (unsigned char)(0xA0 + i);
	for (unsigned int i = 0; i < len && i < KERNEL_HANDLE_MAX; i++)
		h.kernel.data[i] = (unsigned char)(i + 1);
	return h;
}

static int decode(const void *bytes, size_t len, struct wire_handle *ret)
{
	unsigned char *exact = malloc(len ? len : 1);
	int rc;

	CU_ASSERT_FATAL(exact != NULL);
	memcpy(exact, bytes, len);
	rc = wire_handle_decode(exact, len, ret);
	free(exact);
	return rc;
}

static void fsid_lengths(void)
{
	for (unsigned int i = 0; i < WIRE_FSID_TYPES; i++)
		CU_ASSERT_EQUAL(wire_fsid_len(i), fsid_len[i]);
	CU_ASSERT_EQUAL(wire_fsid_len(WIRE_FSID_TYPES), -EINVAL);
	CU_ASSERT_EQUAL(wire_fsid_len(UINT32_MAX), -EINVAL);
}

/* Written out by hand from the format of FSAL_VFS */
static void known_bytes(void)
{
	static const unsigned char ext4[] = { 0x43, 0xA0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7,
					      0xA8, 0xA9, 0xAA, 0xAB, 0xAC, 0xAD, 0xAE, 0xAF, 0x01,
					      1,    2,	  3,	4,    5,    6,	  7,	8 };
	static const unsigned char two[] = { 0x84, 0xA0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5,
					     0xA6, 0xA7, 0x2C, 0x01, 1,	   2,	 3,
					     4,	   5,	 6,    7,    8 };
	static const unsigned char four[] = {
		0xC0, 0x00, 0x80, 0x00, 0x00, 1, 2, 3, 4, 5, 6, 7, 8
	};
	static const unsigned char dummy[] = {
		0x25, 0xA0, 0xA1, 0xA2, 0xA3, 0xA4, 0xA5, 0xA6, 0xA7
	};
	unsigned char buf[WIRE_HANDLE_MAX];
	struct wire_handle h = sample(3, 1, 8);

	CU_ASSERT_EQUAL(wire_handle_encode(&h, buf, sizeof(buf)), sizeof(ext4));
	CU_ASSERT_EQUAL(memcmp(buf, ext4, sizeof(ext4)), 0);
	h = sample(4, 300, 8);
	CU_ASSERT_EQUAL(wire_handle_encode(&h, buf, sizeof(buf)), sizeof(two));
	CU_ASSERT_EQUAL(memcmp(buf, two, sizeof(two)), 0);
	h = sample(0, 32768, 8);
	CU_ASSERT_EQUAL(wire_handle_encode(&h, buf, sizeof(buf)), sizeof(four));
	CU_ASSERT_EQUAL(memcmp(buf, four, sizeof(four)), 0);
	h = sample(5, 0, 0);
	h.dummy = true;
	CU_ASSERT_EQUAL(wire_handle_encode(&h, buf, sizeof(buf)), sizeof(dummy));
	CU_ASSERT_EQUAL(memcmp(buf, dummy, sizeof(dummy)), 0);
}

static void check_round_trip(const struct wire_handle *h, size_t len)
{
	struct wire_handle out;
	unsigned char buf[WIRE_HANDLE_MAX + 1];
	int rc;

	memset(buf, 0xEE, sizeof(buf));
	rc = wire_handle_encode(h, buf, sizeof(buf));
	if (len > WIRE_HANDLE_MAX) {
		CU_ASSERT_EQUAL(rc, -EOVERFLOW);
		CU_ASSERT_EQUAL(buf[0], 0xEE);
		return;
	}
	CU_ASSERT_EQUAL(rc, (int)len);
	CU_ASSERT_EQUAL(buf[len], 0xEE);
	CU_ASSERT_EQUAL(wire_handle_encode(h, buf, len), (int)len);
	CU_ASSERT_EQUAL(wire_handle_encode(h, buf, len - 1), -EOVERFLOW);
	memset(&out, 0x55, sizeof(out));
	CU_ASSERT_EQUAL_FATAL(decode(buf, len, &out), 0);
	CU_ASSERT_EQUAL(out.fsid_type, h->fsid_type);
	CU_ASSERT_EQUAL(out.dummy, h->dummy);
	CU_ASSERT_EQUAL(out.fsid_len, h->fsid_len);
	CU_ASSERT_EQUAL(memcmp(out.fsid, h->fsid, sizeof(out.fsid)), 0);
	CU_ASSERT(handle_equal(&out.kernel, &h->kernel));
	CU_ASSERT_EQUAL(memcmp(out.kernel.data, h->kernel.data, KERNEL_HANDLE_MAX), 0);
}

static void round_trip_of_every_shape(void)
{
	for (uint8_t fsid = 0; fsid < WIRE_FSID_TYPES; fsid++) {
		struct wire_handle h = sample(fsid, 0, 0);

		h.dummy = true;
		check_round_trip(&h, 1U + h.fsid_len);
		for (size_t t = 0; t < KERNEL_TYPES; t++) {
			for (unsigned int len = 8; len <= 48; len += 4) {
				h = sample(fsid, kernel_type[t], len);
				check_round_trip(&h, 1U + h.fsid_len + type_bytes(kernel_type[t]) +
							     len);
			}
		}
	}
}

static void encode_refuses(struct wire_handle h, int want)
{
	unsigned char buf[256] = { 0xEE };

	CU_ASSERT_EQUAL(wire_handle_encode(&h, buf, sizeof(buf)), want);
	CU_ASSERT_EQUAL(buf[0], 0xEE);
}

static void encoder_refuses_contradictions(void)
{
	struct wire_handle h = sample(3, 1, 8);

	h.fsid_len = 8;
	encode_refuses(h, -EINVAL);
	h = sample(3, 1, 8);
	h.fsid_type = 6;
	encode_refuses(h, -EINVAL);
	h = sample(3, 1, 8);
	h.dummy = true;
	encode_refuses(h, -EINVAL);
	encode_refuses(sample(3, -1, 8), -EINVAL);
	encode_refuses(sample(3, 1, 0), -EINVAL);
	encode_refuses(sample(3, 1, 4), -EINVAL);
	encode_refuses(sample(3, 1, 9), -EINVAL);
	encode_refuses(sample(0, 1, 52), -EOVERFLOW);
	encode_refuses(sample(0, 1, 128), -EOVERFLOW);
	encode_refuses(sample(0, 1, UINT32_MAX), -EOVERFLOW);
	encode_refuses(sample(3, 1, 44), -EOVERFLOW);
}

/* A prefix is a handle only if it has the length of one: whole words of the kernel handle */
static void truncations_are_refused(void)
{
	struct wire_handle untouched;
	struct wire_handle out;
	unsigned char buf[WIRE_HANDLE_MAX];

	memset(&untouched, 0x77, sizeof(untouched));
	for (uint8_t fsid = 0; fsid < WIRE_FSID_TYPES; fsid++) {
		for (size_t t = 0; t < KERNEL_TYPES; t++) {
			struct wire_handle h = sample(fsid, kernel_type[t], 20);
			size_t before = 1U + h.fsid_len + type_bytes(kernel_type[t]);
			int len = wire_handle_encode(&h, buf, sizeof(buf));

			for (size_t cut = 0; cut < (size_t)len; cut++) {
				bool real = cut >= before + 8 && (cut - before) % 4 == 0;

				out = untouched;
				CU_ASSERT_EQUAL(decode(buf, cut, &out), real ? 0 : -EINVAL);
				if (!real)
					CU_ASSERT(memcmp(&out, &untouched, sizeof(out)) == 0);
			}
		}
	}
}

static void check_refused(const unsigned char *bytes, size_t len)
{
	struct wire_handle out;

	CU_ASSERT_EQUAL(decode(bytes, len, &out), -EINVAL);
}

static void decoder_refuses_other_encodings(void)
{
	unsigned char buf[80] = { 0 };

	buf[0] = 0x40; /* a real one, to change from */
	check_refused(buf, 60);
	check_refused(buf, sizeof(buf));
	check_refused(buf, 1 + 1 + 52);
	buf[0] = 0x00; /* no type field and no dummy */
	check_refused(buf, 10);
	buf[0] = 0x20; /* dummy with something behind it */
	check_refused(buf, 2);
	buf[0] = 0x60; /* dummy with a type field */
	check_refused(buf, 1);
	buf[0] = 0x46; /* fsid types 6..31 */
	check_refused(buf, 26);
	buf[0] = 0x5F;
	check_refused(buf, 26);
	buf[0] = 0x80; /* two bytes for what fits one */
	buf[1] = 0xFF;
	check_refused(buf, 11);
	buf[2] = 0xFF; /* negative */
	check_refused(buf, 11);
	buf[0] = 0xC0; /* four bytes for what fits two; then negative */
	buf[2] = 0x7F;
	check_refused(buf, 13);
	memset(buf + 1, 0xFF, 4);
	check_refused(buf, 13);
}

/* Whatever the decoder accepts, the encoder writes back byte for byte */
static bool accepted_means_canonical(const unsigned char *bytes, size_t len)
{
	unsigned char again[WIRE_HANDLE_MAX];
	struct wire_handle h;

	if (decode(bytes, len, &h) != 0)
		return false;
	CU_ASSERT_EQUAL(wire_handle_encode(&h, again, sizeof(again)), (int)len);
	CU_ASSERT_EQUAL(memcmp(again, bytes, len), 0);
	return true;
}

static void every_bit_flip(void)
{
	unsigned char buf[WIRE_HANDLE_MAX];
	unsigned int accepted = 0;

	for (uint8_t fsid = 0; fsid < WIRE_FSID_TYPES; fsid++) {
		for (size_t t = 0; t < KERNEL_TYPES; t++) {
			struct wire_handle h = sample(fsid, kernel_type[t], 12);
			int len = wire_handle_encode(&h, buf, sizeof(buf));

			CU_ASSERT_FATAL(len > 0);
			for (int bit = 0; bit < 8 * len; bit++) {
				buf[bit / 8] ^= (unsigned char)(1U << (bit % 8));
				accepted += accepted_means_canonical(buf, (size_t)len);
				buf[bit / 8] ^= (unsigned char)(1U << (bit % 8));
			}
		}
	}
	CU_ASSERT(accepted > 0); /* flips inside fsid and kernel handle */
}

static void random_bytes(void)
{
	uint64_t seed = 987654321;
	unsigned int accepted = 0;
	unsigned char buf[72];

	for (int i = 0; i < 400000; i++) {
		size_t len = unit_below(&seed, sizeof(buf) + 1);

		for (size_t b = 0; b < len; b++)
			buf[b] = (unsigned char)unit_random(&seed);
		if (len > 0 && i % 2 == 0) /* a first byte that gets further */
			buf[0] = (unsigned char)(0x40 * (1 + unit_below(&seed, 3)) +
						 unit_below(&seed, 6));
		accepted += accepted_means_canonical(buf, len);
	}
	CU_ASSERT(accepted > 1000);
}

static int scratch_dir(char path[64])
{
	int fd;

	strcpy(path, "/tmp/handle-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(path));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	return fd;
}

/* The bytes that the kernel gives, put together by hand, are the bytes that the encoder writes */
static void check_real_bytes(int dir, const char *name)
{
	struct {
		struct file_handle handle;
		unsigned char data[128];
	} kernel = { .handle = { .handle_bytes = 128 } };
	struct wire_handle h = sample(3, 0, 0);
	unsigned char want[WIRE_HANDLE_MAX] = { 0x43 };
	unsigned char buf[WIRE_HANDLE_MAX];
	size_t len;
	int mount;

	CU_ASSERT_EQUAL_FATAL(name_to_handle_at(dir, name, &kernel.handle, &mount, 0), 0);
	CU_ASSERT_EQUAL(handle_of_name(dir, name, &h.kernel), 0);
	CU_ASSERT(kernel.handle.handle_type <= 255);
	memcpy(want + 1, h.fsid, 16);
	want[17] = (unsigned char)kernel.handle.handle_type;
	len = 18 + kernel.handle.handle_bytes;
	CU_ASSERT_FATAL(len <= sizeof(want));
	memcpy(want + 18, kernel.data, kernel.handle.handle_bytes);
	CU_ASSERT_EQUAL(wire_handle_encode(&h, buf, sizeof(buf)), (int)len);
	CU_ASSERT_EQUAL(memcmp(buf, want, len), 0);
	CU_ASSERT(accepted_means_canonical(buf, len));
}

static bool same_file(int a, int b)
{
	struct stat sa;
	struct stat sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_ino == sb.st_ino &&
	       sa.st_dev == sb.st_dev;
}

static void check_open(int dir, int file, const struct kernel_handle *handle)
{
	int fd = handle_open(dir, handle, O_RDWR);

	if (fd == -EPERM) {
		puts(" (opening by handle needs CAP_DAC_READ_SEARCH: not tested)");
		return;
	}
	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT(same_file(fd, file));
	CU_ASSERT(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	CU_ASSERT_EQUAL(unlinkat(dir, "file", 0), 0);
	close(file);
	CU_ASSERT_EQUAL(handle_open(dir, handle, O_RDWR), -ESTALE);
}

static void real_files(void)
{
	struct kernel_handle handle, again;
	char path[64];
	int dir = scratch_dir(path);
	int file = openat(dir, "file", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	int rc = handle_of_name(dir, "file", &handle);

	CU_ASSERT_FATAL(file >= 0);
	CU_ASSERT_EQUAL(symlinkat("file", dir, "link"), 0);
	if (rc == -EOPNOTSUPP) {
		puts(" (this filesystem gives no handles: not tested)");
	} else {
		check_real_bytes(dir, "file");
		check_real_bytes(dir, "link");
		check_real_bytes(dir, ".");
		CU_ASSERT_EQUAL(handle_of_name(file, "", &again), 0);
		CU_ASSERT(handle_equal(&handle, &again));
		CU_ASSERT_EQUAL(handle_of_name(dir, "link", &again), 0);
		CU_ASSERT_FALSE(handle_equal(&handle, &again));
		CU_ASSERT_EQUAL(handle_of_name(dir, "absent", &again), -ENOENT);
		check_open(dir, file, &handle);
	}
	unlinkat(dir, "link", 0);
	unlinkat(dir, "file", 0);
	close(dir);
	CU_ASSERT_EQUAL(rmdir(path), 0);
}

static void open_flags_and_errors(void)
{
	struct kernel_handle handle = sample(0, 1, 8).kernel;

	mock_push(MOCK_OPEN_BY_HANDLE_AT, 42, 0);
	CU_ASSERT_EQUAL(handle_open(7, &handle, O_WRONLY), 42);
	CU_ASSERT_EQUAL(mock_record(MOCK_OPEN_BY_HANDLE_AT, 0).fd, 7);
	CU_ASSERT_EQUAL(mock_record(MOCK_OPEN_BY_HANDLE_AT, 0).len, 8);
	CU_ASSERT_EQUAL(mock_record(MOCK_OPEN_BY_HANDLE_AT, 0).flags,
			O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	mock_push(MOCK_OPEN_BY_HANDLE_AT, 43, 0);
	CU_ASSERT_EQUAL(handle_open(7, &handle, O_PATH), 43);
	CU_ASSERT_EQUAL(mock_record(MOCK_OPEN_BY_HANDLE_AT, 1).flags,
			O_PATH | O_CLOEXEC | O_NOFOLLOW);
	mock_fail(MOCK_OPEN_BY_HANDLE_AT, ENOENT);
	CU_ASSERT_EQUAL(handle_open(7, &handle, O_RDONLY), -ESTALE);
	mock_fail(MOCK_OPEN_BY_HANDLE_AT, EMFILE);
	CU_ASSERT_EQUAL(handle_open(7, &handle, O_RDONLY), -EMFILE);
	handle.len = 0;
	CU_ASSERT_EQUAL(handle_open(7, &handle, O_RDONLY), -EINVAL);
	handle.len = KERNEL_HANDLE_MAX + 1;
	CU_ASSERT_EQUAL(handle_open(7, &handle, O_RDONLY), -EINVAL);
	CU_ASSERT_EQUAL(mock_calls(MOCK_OPEN_BY_HANDLE_AT), 4);
}

static void name_flags_and_errors(void)
{
	struct kernel_handle handle = { .len = 99 };
	const struct file_handle liar = { .handle_bytes = KERNEL_HANDLE_MAX + 4 };

	mock_fail(MOCK_NAME_TO_HANDLE_AT, EOPNOTSUPP);
	CU_ASSERT_EQUAL(handle_of_name(7, "", &handle), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(mock_record(MOCK_NAME_TO_HANDLE_AT, 0).flags, AT_EMPTY_PATH);
	mock_fail(MOCK_NAME_TO_HANDLE_AT, EOVERFLOW);
	CU_ASSERT_EQUAL(handle_of_name(7, "x", &handle), -EOVERFLOW);
	CU_ASSERT_EQUAL(mock_record(MOCK_NAME_TO_HANDLE_AT, 1).flags, 0);
	mock_push_data(MOCK_NAME_TO_HANDLE_AT, 0, &liar, sizeof(liar));
	CU_ASSERT_EQUAL(handle_of_name(7, "x", &handle), -EOVERFLOW);
	CU_ASSERT_EQUAL(handle.len, 99);
}

static void equality_looks_at_used_bytes(void)
{
	struct kernel_handle a = sample(0, 1, 8).kernel;
	struct kernel_handle b = a;

	b.data[20] = 1;
	CU_ASSERT(handle_equal(&a, &b));
	b.data[7] ^= 1;
	CU_ASSERT_FALSE(handle_equal(&a, &b));
	b = a;
	b.type++;
	CU_ASSERT_FALSE(handle_equal(&a, &b));
	b = a;
	b.len = 12;
	CU_ASSERT_FALSE(handle_equal(&a, &b));
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "fsid lengths", fsid_lengths },
		{ "known bytes", known_bytes },
		{ "round trip of every shape", round_trip_of_every_shape },
		{ "encoder refuses contradictions", encoder_refuses_contradictions },
		{ "truncations are refused", truncations_are_refused },
		{ "decoder refuses other encodings", decoder_refuses_other_encodings },
		{ "every bit flip", every_bit_flip },
		{ "random bytes", random_bytes },
		{ "real files", real_files },
		{ "open: flags and errors", open_flags_and_errors },
		{ "name: flags and errors", name_flags_and_errors },
		{ "equality looks at used bytes", equality_looks_at_used_bytes },
		CU_TEST_INFO_NULL,
	};

	return unit_run("handle", mock_reset, tests);
}
