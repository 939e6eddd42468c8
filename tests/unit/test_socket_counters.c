/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* Counters from a folder like /proc: real ones, other kernels', and malformed ones. */
#include "socket_counters.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#define SNMP                                                                                       \
	"Ip: Forwarding\nIp: 1\n"                                                                  \
	"Tcp: MaxConn RetransSegs InErrs\nTcp: -1 42 9\n"                                          \
	"Udp: InDatagrams InErrors RcvbufErrors SndbufErrors\nUdp: 1 20 30 40\n"
#define NETSTAT                                                                                    \
	"TcpExt: PruneCalled RcvPruned Unknown OfoPruned ListenDrops TCPRcvQDrop\n"                \
	"TcpExt: 1 2 99 3 4 18446744073709551615\n"                                                \
	"IpExt: RcvPruned InErrors\nIpExt: 1000 1000\n"

static char proc[64];

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/net/%s", proc, name);
	unlink(path);
	if (text == NULL)
		return;
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
}

static void make(void)
{
	char path[128];

	snprintf(proc, sizeof(proc), "/tmp/test_counters.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(proc));
	snprintf(path, sizeof(path), "%s/net", proc);
	CU_ASSERT_EQUAL_FATAL(mkdir(path, 0755), 0);
	put("snmp", SNMP);
	put("netstat", NETSTAT);
}

static void end(void)
{
	char path[128];

	put("snmp", NULL);
	put("netstat", NULL);
	put("snmp6", NULL);
	snprintf(path, sizeof(path), "%s/net", proc);
	CU_ASSERT_EQUAL(rmdir(path), 0);
	CU_ASSERT_EQUAL(rmdir(proc), 0);
}

static void counters_are_found_by_name(void)
{
	struct socket_counters c;

	make();
	CU_ASSERT_EQUAL(socket_counters_read(proc, &c), 0);
	CU_ASSERT_EQUAL(c.value[SOCKET_PRUNE_CALLED], 1);
	CU_ASSERT_EQUAL(c.value[SOCKET_RECEIVE_PRUNED], 2);
	CU_ASSERT_EQUAL(c.value[SOCKET_OUT_OF_ORDER_PRUNED], 3);
	CU_ASSERT_EQUAL(c.value[SOCKET_LISTEN_DROPS], 4);
	CU_ASSERT_EQUAL(c.value[SOCKET_RECEIVE_QUEUE_DROP], UINT64_MAX);
	CU_ASSERT_EQUAL(c.value[SOCKET_BACKLOG_DROP], 0);
	CU_ASSERT_EQUAL(c.value[SOCKET_RETRANSMITTED], 42);
	CU_ASSERT_EQUAL(c.value[SOCKET_UDP_IN_ERRORS], 20);
	CU_ASSERT_EQUAL(c.value[SOCKET_UDP_RECEIVE_BUFFER_ERRORS], 30);
	CU_ASSERT_EQUAL(c.value[SOCKET_UDP_SEND_BUFFER_ERRORS], 40);
	put("snmp6", "Ip6InReceives 7\nUdp6InErrors                 1\nUdp6RcvbufErrors 2\nUdp6\n");
	CU_ASSERT_EQUAL(socket_counters_read(proc, &c), 0);
	CU_ASSERT_EQUAL(c.value[SOCKET_UDP_IN_ERRORS], 21);
	CU_ASSERT_EQUAL(c.value[SOCKET_UDP_RECEIVE_BUFFER_ERRORS], 32);
	end();
}

static void malformed_files_are_an_error(void)
{
	static const char *const bad[] = { "TcpExt: A B\n",
					   "TcpExt: A B\nTcpExt: 1\n",
					   "TcpExt: A\nTcpExt: 1 2\n",
					   "TcpExt: A\nIpExt: 1\n",
					   "TcpExt: A\nTcpExt: x\n",
					   "TcpExt: A\nTcpExt: 1x\n",
					   "\n\n" };
	struct socket_counters c = { .value = { 5 } };

	make();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put("netstat", bad[i]);
		CU_ASSERT_EQUAL(socket_counters_read(proc, &c), -EPROTO);
	}
	put("netstat", NULL);
	CU_ASSERT_EQUAL(socket_counters_read(proc, &c), -ENOENT);
	put("netstat", NETSTAT);
	put("snmp", NULL);
	CU_ASSERT_EQUAL(socket_counters_read(proc, &c), -ENOENT);
	CU_ASSERT_EQUAL(c.value[0], 5);
	end();
}

static void this_kernel_has_them_all(void)
{
	struct socket_counters c;
	char line[8192];
	FILE *file;

	CU_ASSERT_EQUAL(socket_counters_read("/proc", &c), 0);
	file = fopen("/proc/net/netstat", "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	CU_ASSERT_PTR_NOT_NULL(fgets(line, sizeof(line), file));
	fclose(file);
	for (int i = SOCKET_PRUNE_CALLED; i <= SOCKET_MEMORY_PRESSURES; i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(line, socket_counter_name(i)));
	for (int i = 0; i < SOCKET_COUNTER_COUNT; i++)
		for (int j = 0; j < i; j++)
			CU_ASSERT_STRING_NOT_EQUAL(socket_counter_name(i), socket_counter_name(j));
	CU_ASSERT_STRING_EQUAL(socket_counter_name(SOCKET_COUNTER_COUNT), "invalid");
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "counters are found by name", counters_are_found_by_name },
		{ "malformed files are an error", malformed_files_are_an_error },
		{ "this kernel has them all", this_kernel_has_them_all },
		CU_TEST_INFO_NULL,
	};

	return unit_run("socket_counters", NULL, tests);
}
