#include <errno.h>
#include <string.h>

#include <weft/ripc.h>

/* What an errno means in a result of ripc; the system's text for all others. */
static const struct {
    int error;
    const char *text;
} error_texts[] = {
    {ENOENT, "nobody has that id"},
    {EAGAIN, "nothing to take, or no credit, just now"},
    {ETIMEDOUT, "the deadline has passed"},
    {EMSGSIZE, "too large for a short message, or for the memory given"},
    {EFAULT, "memory that is not mapped or not registered"},
    {EOPNOTSUPP, "no way to that peer can do this"},
    {EHOSTUNREACH, "no transport in common with that peer"},
    {ECONNREFUSED, "nobody listens at its address, or the peer refuses us"},
    {EADDRINUSE, "somebody alive has that id"},
    {EPIPE, "the peer is gone"},
    {ENOBUFS, "the receiver rejected a long item"},
    {ECANCELED, "canceled"},
    {EINPROGRESS, "waits for memory to go to"},
    {ESTALE, "no longer what it was"},
    {EALREADY, "free already"},
    {EBUSY, "still in use"},
    {EACCES, "no such grant, or not for us, or revoked"},
    {ERANGE, "beyond the end"},
    {EPROTO, "the peer does not speak our protocol"},
    {EKEYREJECTED, "the peer does not know the cluster's secret"},
    {EPROTONOSUPPORT, "the peer speaks another version"},
    {ENOPKG, "a library that the transport needs is not installed"},
    {EEXIST, "overlaps what is there already"},
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
