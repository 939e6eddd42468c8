/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* What limits a connection, in words, from figures as the kernel gives them and from extremes. */
#include "connections.h"

#include <string.h>

#include "unit.h"

static const struct size_ceilings ceilings = { .bytes = { 4 << 20, 6 << 20 } };
static const uint64_t needs[SIZE_DIRECTIONS] = { (18 << 20) - 5, 32 << 20 };

static enum connection_limit verdict(const struct connection *c, const char *want)
{
	char text[CONNECTION_VERDICT], cut[8];
	enum connection_limit limit = connection_verdict(c, &ceilings, needs, text, sizeof(text));

	if (want != NULL)
		CU_ASSERT_STRING_EQUAL(text, want);
	CU_ASSERT(strlen(text) + 1 < sizeof(text));
	connection_verdict(c, &ceilings, needs, cut, sizeof(cut));
	CU_ASSERT(strlen(cut) < sizeof(cut));
	return limit;
}

static void each_limit_has_its_words(void)
{
	struct connection c = { .busy_us = 1000, .send_limited_us = 340, .peer_limited_us = 900 };

	CU_ASSERT_EQUAL(verdict(&c, "send buffer full 34 % of the time: raise net.ipv4.tcp_wmem[2] "
				    "to 18 MiB"),
			CONNECTION_SEND_BUFFER);
	c.send_limited_us = 44;
	CU_ASSERT_EQUAL(verdict(&c, "client limited: its receive buffer full 90 % of the time"),
			CONNECTION_CLIENT);
	c.bytes_sent = 1000000;
	c.bytes_retransmitted = 9999;
	CU_ASSERT_EQUAL(verdict(&c, NULL), CONNECTION_CLIENT);
	c.bytes_retransmitted = 30000;
	CU_ASSERT_EQUAL(verdict(&c, "network limited: 3 % of what was sent was sent again"),
			CONNECTION_NETWORK);
	c = (struct connection){ .has_own_window = true, .own_window = 1, .receive_queue = 5 };
	CU_ASSERT_EQUAL(verdict(&c, "ok"), CONNECTION_OK);
	c.own_window = 0;
	c.receive_segment = 1448;
	CU_ASSERT_EQUAL(verdict(&c, NULL), CONNECTION_RECEIVE_BUFFER);
	/* Stopped on loopback: less than a segment is left */
	c = (struct connection){ .has_own_window = true,
				 .own_window = 48640,
				 .receive_segment = 65483,
				 .receive_queue = 4982746 };
	CU_ASSERT_EQUAL(verdict(&c, NULL), CONNECTION_RECEIVE_BUFFER);
	/* At work: a window of less than one segment of loopback is what it begins with */
	c.receive_queue = 20000;
	CU_ASSERT_EQUAL(verdict(&c, NULL), CONNECTION_OK);
	/* A kernel that does not tell its window */
	c = (struct connection){ .has_memory = true, .receive_buffer = 1000, .receive_queue = 470 };
	CU_ASSERT_EQUAL(verdict(&c, "ok"), CONNECTION_OK);
	c.receive_queue = 480;
	CU_ASSERT_EQUAL(verdict(&c, NULL), CONNECTION_RECEIVE_BUFFER);
	c.receive_queue = 100;
	c.receive_used = 900;
	CU_ASSERT_EQUAL(verdict(&c, NULL), CONNECTION_RECEIVE_BUFFER);
}

static void what_suffices_is_not_to_be_raised(void)
{
	const uint64_t little[SIZE_DIRECTIONS] = { 1 << 20, 1 << 20 };
	struct connection c = { .busy_us = UINT64_MAX, .send_limited_us = UINT64_MAX };
	char text[CONNECTION_VERDICT];

	connection_verdict(&c, &ceilings, little, text, sizeof(text));
	CU_ASSERT_PTR_NULL(strstr(text, "raise"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "send buffer full 100 % of the time"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "more than 4 MiB"));
	c = (struct connection){ .has_own_window = true,
				 .receive_segment = 1448,
				 .receive_queue = UINT32_MAX };
	connection_verdict(&c, &ceilings, little, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(
		text, "receive buffer full: 4294967295 bytes of requests wait for a worker or "
		      "the disk");
}

static void shares_are_percent(void)
{
	CU_ASSERT_EQUAL(connection_share(0, 0), 0);
	CU_ASSERT_EQUAL(connection_share(5, 0), 0);
	CU_ASSERT_EQUAL(connection_share(7, 3), 100);
	CU_ASSERT_EQUAL(connection_share(1, 3), 33);
	CU_ASSERT_EQUAL(connection_share(2, 3), 67);
	CU_ASSERT_EQUAL(connection_share(UINT64_MAX / 2, UINT64_MAX), 50);
}

int main(void)
{
	CU_TestInfo tests[] = {
		{ "each limit has its words", each_limit_has_its_words },
		{ "what suffices is not to be raised", what_suffices_is_not_to_be_raised },
		{ "shares are percent", shares_are_percent },
		CU_TEST_INFO_NULL,
	};

	return unit_run("connection_verdict", NULL, tests);
}
