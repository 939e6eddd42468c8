/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* See stamp.h. */
#include "stamp.h"

#include <stdbool.h>
#include <string.h>

#define SECTOR 512u
#define MAGIC 0x44425354414d5031ull

struct mark {
	uint64_t magic;
	uint64_t file_id;
	uint64_t offset;
	uint32_t generation;
	uint32_t check;
};

uint64_t stamp_file_id(const char *path)
{
	const char *name = strrchr(path, '/');
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */

	for (name = name ? name + 1 : path; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
	return hash;
}

static struct mark mark_at(const struct stamp *stamp, uint64_t offset)
{
	struct mark mark = { MAGIC, stamp->file_id, offset, stamp->generation, 0 };
	uint64_t mix = mark.file_id * 31 + offset * 17 + mark.generation;

	mark.check = (uint32_t)(mix ^ mix >> 32);
	return mark;
}

/* The fixed part of every sector; xorshift so that it does not compress. */
static const uint8_t *pattern(void)
{
	static uint8_t bytes[SECTOR];
	static bool made;
	uint64_t x = 88172645463325252ull;
	size_t i;

	for (i = 0; !made && i < SECTOR; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		bytes[i] = (uint8_t)x;
	}
	made = true;
	return bytes;
}

static void sector_at(const struct stamp *stamp, uint64_t offset, uint8_t sector[SECTOR])
{
	struct mark mark = mark_at(stamp, offset);

	memcpy(sector, pattern(), SECTOR);
	memcpy(sector, &mark, sizeof(mark));
}

/* The part of [offset, offset + len) that lies in offset's sector. */
static size_t piece(uint64_t offset, size_t len)
{
	size_t room = SECTOR - offset % SECTOR;

	return room < len ? room : len;
}

void stamp_fill(const struct stamp *stamp, void *buf, size_t len, uint64_t offset)
{
	uint8_t sector[SECTOR], *to = buf;
	size_t n;

	for (; len > 0; len -= n, to += n, offset += n) {
		n = piece(offset, len);
		sector_at(stamp, offset - offset % SECTOR, sector);
		memcpy(to, sector + offset % SECTOR, n);
	}
}

void stamp_refill(const struct stamp *stamp, void *buf, size_t len, uint64_t offset)
{
	uint8_t *to = buf;
	struct mark mark;
	size_t n;

	for (; len > 0; len -= n, to += n, offset += n) {
		n = piece(offset, len);
		if (n < SECTOR) {
			stamp_fill(stamp, to, n, offset);
			continue;
		}
		mark = mark_at(stamp, offset);
		memcpy(to, &mark, sizeof(mark));
	}
}

size_t stamp_verify(const struct stamp *stamp, const void *buf, size_t len, uint64_t offset)
{
	const uint8_t *from = buf;
	uint8_t sector[SECTOR];
	size_t done = 0, n;

	for (; done < len; done += n, offset += n) {
		n = piece(offset, len - done);
		sector_at(stamp, offset - offset % SECTOR, sector);
		if (memcmp(from + done, sector + offset % SECTOR, n) == 0)
			continue;
		while (from[done] == sector[offset % SECTOR]) {
			done++;
			offset++;
		}
		return done;
	}
	return len;
}
