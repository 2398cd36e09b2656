#pragma once
/* line: how the requests of a store get to a server: by an attachment, and when that server is gone
 * or does not answer, by one to another server. */

#include "program/store/window.h"
#include "transport/clock.h"

struct line {
    char *dir;     /* as given to weft_attach; NULL: the default; owned */
    bool may_move; /* any server of the run directory will do */
    struct weft_attachment *attachment;
    uint32_t server;  /* its number */
    uint32_t service; /* the store's number there */
    int epoll_fd;     /* that watches the attachment; -1: none */
    nsec gone_since;  /* the server is gone, or does not answer; 0: neither */
    nsec move_at;     /* no attempt to move before */
    uint8_t bytes[STORE_MESSAGE_MAX > WEFT_MESSAGE_MAX ? STORE_MESSAGE_MAX : WEFT_MESSAGE_MAX];
};

/* As weft_store_open. */
int line_open(struct line *line, const char *dir, uint32_t server);
void line_close(struct line *line);
/* From now on epoll_fd watches the attachment, also a later one. */
int line_watch(struct line *line, int epoll_fd);
/* Sends what is due. Parts of large values may wait for room, for a moment, until the deadline. */
int line_send(struct line *line, struct window *window, nsec deadline);
/* Waits until the deadline for a message, and handles it. -EAGAIN, -ETIMEDOUT: there is none. */
int line_receive(struct line *line, struct window *window, nsec deadline);
/* Changes to another server if that is due. It may wait, until the deadline. */
void line_move(struct line *line, struct window *window, nsec deadline);
