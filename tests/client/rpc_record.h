/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * Reading one RPC reply from the stream: record marks, fragments and the reply
 * header. Used by rpc.c only; the bytes behind the header are pulled with the
 * functions of rpc.h.
 */
#ifndef NFSCLIENT_RPC_RECORD_H
#define NFSCLIENT_RPC_RECORD_H

#include "rpc.h"

/* Starts the next record and reads its xid. */
int record_begin(struct rpc_conn *conn, uint32_t *ret_xid);
/* Reads the reply header up to the results; -EPROTO with text if refused. */
int record_accepted(struct rpc_conn *conn);

#endif
