#pragma once
/* client_impl: the programs at a client socket, for the files of this folder.
 *
 *   client_table.c   the clients of one socket, by number
 *   client.c         one client: hello, requests, answers; polling the channels
 *   client_socket.c  the socket: who may attach, and when
 *
 * Each file calls only files above it in this list.
 *
 * Invariants: a client with a channel is in exactly one of the lists `channels` and `resting`; it
 * is in `blocked` iff BLOCKED_CHANNEL is set; its watch has EPOLLOUT iff BLOCKED_SOCKET is set;
 * waiting_count is 0 iff `blocked` is 0.
 *
 * One thread; only the channels' memory is shared. */

#include <sys/stat.h>
#include <sys/un.h>

#include "os/host/client_socket.h"
#include "transport/ring/channel.h"

enum {
    CLIENT_SERVICES_MAX = 32, /* services that wait for a client's room */
    BLOCKED_SOCKET = 1,
    BLOCKED_CHANNEL = 2,
};

struct client {
    struct client_socket *listener;
    struct poller_watch *watch;
    int fd;
    int process;             /* of the program */
    uint32_t index;          /* in the table */
    bool greeted;            /* its hello was accepted */
    bool broken;             /* its channel holds malformed data */
    bool heard;              /* its channel had a request since the silent were last put to rest */
    bool rests;              /* it is in the list `resting` */
    uint8_t blocked;         /* BLOCKED_... */
    uint8_t waiting_count;   /* services that got -EAGAIN ... */
    struct channel *channel; /* NULL: it uses the socket */
    struct list node;        /* in `channels` or `resting` if `channel` is set */
    struct list blocked_node;
    struct list unheard_node; /* in `unheard` while its program must be told of answers */
    uint16_t waiting[CLIENT_SERVICES_MAX]; /* ... and their numbers */
};

/* A client's number consists of its index in the table and of how often that entry was used before,
 * so that a late answer does not go to the next client. */
struct client_entry {
    struct client *client; /* NULL: free */
    uint32_t turn;
    uint32_t next; /* the next free entry */
};

struct client_table {
    struct client_entry *entries; /* owned */
    size_t capacity;
    uint32_t entry_count;
    uint32_t free; /* the first free entry; UINT32_MAX: none */
    uint32_t client_count;
};

struct client_socket {
    struct client_sockets *all;
    struct poller *poller;
    struct client_socket_events events;
    uint32_t server;
    uint32_t clients_max;
    int fd;
    struct poller_watch *watch;
    struct poller_timer retry; /* accepts again, after a lack of descriptors; always set */
    struct sockaddr_un address;
    struct stat made; /* identifies the socket that we made under that name */
    struct client_table table;
};

/* client_table.c */
void client_table_init(struct client_table *table);
void client_table_fini(struct client_table *table); /* all clients were removed */
/* Sets client->index. -ENOMEM: no memory. */
MUST_CHECK int client_table_add(struct client_table *table, struct client *client);
void client_table_remove(struct client_table *table, const struct client *client);
uint64_t client_table_number(const struct client_table *table, const struct client *client);
struct client *client_table_find(const struct client_table *table, uint64_t number); /* or NULL */

/* client.c */
/* Takes the descriptor, unless it fails. */
MUST_CHECK int client_begin(struct client_socket *listener, int fd, int process);
void client_end(struct client *client);
/* As client_socket_answer, with the head of the message. */
MUST_CHECK int client_say(struct client *client, const struct attach_head *head, const void *bytes,
                          uint32_t size);
/* Sends a welcome with that status to a program that is not a client yet. */
void client_refuse(const struct client_socket *listener, int fd, int error);
