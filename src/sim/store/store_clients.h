#pragma once
/* store_clients: a checker of simulated clusters (weft/simulation.h): it plays clients of the
 * service `store` and judges what they see.
 *
 * A client is at one server, has one or two requests under way, and makes the next one soon after
 * an answer. When it gets no answer, its server crashes, or it just loses patience, it mostly goes
 * to another server, and sends the same request again. At the end, more clients read all keys at
 * several servers.
 *
 * - Some order of the requests explains all answers (store/history).
 * - After the storm, each request is answered; some time later none is refused or left open.
 * - Pages of keys, too, fit into such an order (store_scans.h).
 * - At the end each group has all its copies, with the same keys and versions; logs are not much
 *   larger than what is needed of them; and no server still works at a request.
 *
 * After faults that may leave no whole copy of a key (an empty disk, or one that damages what it
 * keeps) a key may be unavailable at the end. It is never answered wrongly. A driver that causes
 * such faults without telling the checker calls store_clients_expect_losses. */

#include <weft/simulation.h>

#include "sim/store/store_account.h"

extern const struct weft_checker store_clients;

/* Forgets everything; before each run, which has these parameters of the store. */
void store_clients_begin(uint32_t group_count, uint64_t segment);
/* In this run. */
void store_clients_expect_losses(void);
void store_clients_use_large_values(void);
/* The clients hardly rest, and most of their requests are for a few keys: so the servers write all
 * of their logs anew every few seconds. And many keys are put once, and soon removed for good. */
void store_clients_hurry(void);
/* Some keys have a time to live. Two wall clocks of servers differ by `error` nanoseconds at most;
 * negative: this is not known. Otherwise a key that is read long after its time is wrong, too. */
void store_clients_expect_expiry(int64_t error);
/* Of the run, until the next one begins. */
const struct store_account *store_clients_account(void);
