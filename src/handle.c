/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Codec of wire handles, and the two system calls behind them: see handle.h.
 *
 * The decoder reads a field only after the length was checked for it. What it accepts, the encoder
 * would have written byte for byte.
 */
#include "handle.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define FSID_MASK 0x1F
#define FLAG_DUMMY 0x20
#define TYPE_MASK 0xC0
#define TYPE_1_BYTE 0x40
#define TYPE_2_BYTES 0x80
#define TYPE_4_BYTES 0xC0

int wire_fsid_len(unsigned int type)
{
	/* none, one u64, major u64, two u64, two u32, device: Ganesha's enum fsid_type */
	static const uint8_t len[WIRE_FSID_TYPES] = { 0, 8, 8, 16, 8, 8 };

	return type < WIRE_FSID_TYPES ? len[type] : -EINVAL;
}

static uint8_t type_flag(int type)
{
	if (type <= UINT8_MAX)
		return TYPE_1_BYTE;
	return type <= INT16_MAX ? TYPE_2_BYTES : TYPE_4_BYTES;
}

static size_t type_len(uint8_t flag)
{
	switch (flag) {
	case TYPE_1_BYTE:
		return sizeof(uint8_t);
	case TYPE_2_BYTES:
		return sizeof(int16_t);
	case TYPE_4_BYTES:
		return sizeof(int32_t);
	default:
		return 0;
	}
}

static void type_put(unsigned char *to, int type, uint8_t flag)
{
	int32_t type32 = type;
	int16_t type16 = (int16_t)type;
	uint8_t type8 = (uint8_t)type;

	if (flag == TYPE_1_BYTE)
		memcpy(to, &type8, sizeof(type8));
	else if (flag == TYPE_2_BYTES)
		memcpy(to, &type16, sizeof(type16));
	else
		memcpy(to, &type32, sizeof(type32));
}

static int type_get(const unsigned char *from, uint8_t flag)
{
	int32_t type32;
	int16_t type16;

	if (flag == TYPE_1_BYTE)
		return *from;
	if (flag == TYPE_2_BYTES) {
		memcpy(&type16, from, sizeof(type16));
		return type16;
	}
	memcpy(&type32, from, sizeof(type32));
	return type32;
}

static int check_kernel(const struct kernel_handle *kernel)
{
	if (kernel->len > WIRE_KERNEL_MAX)
		return -EOVERFLOW;
	if (kernel->len < WIRE_KERNEL_MIN || kernel->len % WIRE_KERNEL_WORD != 0)
		return -EINVAL;
	return kernel->type < 0 ? -EINVAL : 0;
}

static int check_fields(const struct wire_handle *handle)
{
	int fsid_len = wire_fsid_len(handle->fsid_type);

	if (fsid_len < 0 || handle->fsid_len != fsid_len)
		return -EINVAL;
	if (!handle->dummy)
		return check_kernel(&handle->kernel);
	return handle->kernel.len != 0 || handle->kernel.type != 0 ? -EINVAL : 0;
}

int wire_handle_encode(const struct wire_handle *handle, void *buf, size_t size)
{
	uint8_t flag = handle->dummy ? 0 : type_flag(handle->kernel.type);
	unsigned char *at = buf;
	int rc = check_fields(handle);
	size_t len;

	if (rc < 0)
		return rc;
	len = 1 + handle->fsid_len + type_len(flag) + handle->kernel.len;
	if (len > size || len > WIRE_HANDLE_MAX)
		return -EOVERFLOW;
	*at++ = handle->fsid_type | flag | (handle->dummy ? FLAG_DUMMY : 0);
	memcpy(at, handle->fsid, handle->fsid_len);
	at += handle->fsid_len;
	if (!handle->dummy) {
		type_put(at, handle->kernel.type, flag);
		memcpy(at + type_len(flag), handle->kernel.data, handle->kernel.len);
	}
	return (int)len;
}

static int decode_kernel(const unsigned char *at, size_t len, uint8_t flag,
			 struct kernel_handle *kernel)
{
	size_t type_bytes = type_len(flag);

	if (type_bytes == 0 || len < type_bytes || len - type_bytes > WIRE_KERNEL_MAX)
		return -EINVAL;
	kernel->type = type_get(at, flag);
	kernel->len = (unsigned int)(len - type_bytes);
	if (check_kernel(kernel) < 0 || type_flag(kernel->type) != flag)
		return -EINVAL;
	memcpy(kernel->data, at + type_bytes, kernel->len);
	return 0;
}

int wire_handle_decode(const void *buf, size_t len, struct wire_handle *ret_handle)
{
	struct wire_handle handle = { 0 };
	const unsigned char *at = buf;
	int fsid_len;
	int rc;

	if (len < 1 || len > WIRE_HANDLE_MAX)
		return -EINVAL;
	fsid_len = wire_fsid_len(at[0] & FSID_MASK);
	if (fsid_len < 0 || len - 1 < (size_t)fsid_len)
		return -EINVAL;
	handle.fsid_type = at[0] & FSID_MASK;
	handle.dummy = (at[0] & FLAG_DUMMY) != 0;
	handle.fsid_len = (uint8_t)fsid_len;
	memcpy(handle.fsid, at + 1, handle.fsid_len);
	len -= 1 + handle.fsid_len;
	if (handle.dummy)
		rc = len == 0 && (at[0] & TYPE_MASK) == 0 ? 0 : -EINVAL;
	else
		rc = decode_kernel(at + 1 + handle.fsid_len, len, at[0] & TYPE_MASK,
				   &handle.kernel);
	if (rc == 0)
		*ret_handle = handle;
	return rc;
}

/* struct file_handle with room for the largest handle */
union file_handle_buf {
	struct file_handle handle;
	char room[sizeof(struct file_handle) + KERNEL_HANDLE_MAX];
};

int handle_of_name(int dir_fd, const char *name, struct kernel_handle *ret_handle)
{
	union file_handle_buf buf = { .handle = { .handle_bytes = KERNEL_HANDLE_MAX } };
	struct kernel_handle kernel = { 0 };
	int mount_id;

	if (name_to_handle_at(dir_fd, name, &buf.handle, &mount_id,
			      name[0] == '\0' ? AT_EMPTY_PATH : 0) < 0)
		return -errno;
	if (buf.handle.handle_bytes > KERNEL_HANDLE_MAX)
		return -EOVERFLOW;
	kernel.type = buf.handle.handle_type;
	kernel.len = buf.handle.handle_bytes;
	memcpy(kernel.data, buf.room + offsetof(struct file_handle, f_handle), kernel.len);
	*ret_handle = kernel;
	return 0;
}

int handle_open(int mount_fd, const struct kernel_handle *handle, int flags)
{
	union file_handle_buf buf = { .handle = { .handle_bytes = handle->len,
						  .handle_type = handle->type } };
	int fd;

	if (handle->len == 0 || handle->len > KERNEL_HANDLE_MAX || handle->type < 0)
		return -EINVAL;
	memcpy(buf.room + offsetof(struct file_handle, f_handle), handle->data, handle->len);
	flags |= O_CLOEXEC | O_NOFOLLOW;
	if ((flags & O_PATH) == 0)
		flags |= O_NONBLOCK;
	fd = open_by_handle_at(mount_fd, &buf.handle, flags);
	if (fd >= 0)
		return fd;
	return errno == ENOENT ? -ESTALE : -errno;
}

bool handle_equal(const struct kernel_handle *a, const struct kernel_handle *b)
{
	return a->type == b->type && a->len == b->len && a->len <= KERNEL_HANDLE_MAX &&
	       memcmp(a->data, b->data, a->len) == 0;
}
