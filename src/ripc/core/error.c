#include <errno.h>
#include <string.h>

#include <weft/ripc.h>

/* The meaning of an errno as a result of ripc. All others have the system's text. */
static const struct {
    int error;
    const char *text;
} error_texts[] = {
    {ENOENT, "no process holds that id"},
    {EAGAIN, "nothing has arrived, or there is no credit at the moment"},
    {ETIMEDOUT, "the deadline has passed"},
    {EMSGSIZE, "too large for a short message, or for the memory given"},
    {EFAULT, "the memory is not mapped or not registered"},
    {EOPNOTSUPP, "no transport to that peer supports this"},
    {EHOSTUNREACH, "no transport in common with that peer"},
    {ECONNREFUSED, "nothing listens at its address, or the peer refuses the connection"},
    {ENETUNREACH, "this host has no route to the peer's address"},
    {EADDRINUSE, "a live process holds that id"},
    {EPIPE, "the peer has ended or is unreachable"},
    {EMFILE, "this process has no free descriptor: close some, or raise its limit (ulimit -n)"},
    {ENFILE, "the system has no free descriptor: raise its limit (sysctl fs.file-max)"},
    {ENOBUFS, "the receiver rejected a long item"},
    {ECANCELED, "cancelled"},
    {EINPROGRESS, "the long item is pending: fetch or reject it"},
    {ESTALE, "no longer valid"},
    {ESHUTDOWN, "the service retires, and everything sent to it has been received"},
    {EALREADY, "already free, used, joined or completed"},
    {EBUSY, "still in use"},
    {EACCES, "no such grant for this process, or it was revoked"},
    {ERANGE, "out of range"},
    {EPROTO, "the peer does not speak our protocol"},
    {EKEYREJECTED, "the peer does not have the cluster's secret"},
    {EPROTONOSUPPORT, "the peer uses another protocol version"},
    {ENOPKG, "a library that the transport needs is not installed"},
    {ECHILD, "another process opened this: a child of fork cannot use its parent's objects"},
    {EEXIST, "overlaps memory that is already registered"},
};

const char *ripc_strerror(int error)
{
    if (error >= 0)
        return "success";
    for (size_t i = 0; i < sizeof error_texts / sizeof *error_texts; i++)
        if (error_texts[i].error == -error)
            return error_texts[i].text;
    const char *text = strerrordesc_np(-error);
    return text ? text : "unknown error";
}
