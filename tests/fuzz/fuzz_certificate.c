/* Tests flow files on a small ring. A file is refused in one line, when it is read or when it is
 * verified, or it is verified and its lower bound is not above its upper bound. */
#include <math.h>

#include "flow/concurrent/certificate.h"
#include "fuzz.h"

static void verify(const struct certificate *certificate, const struct topology *topology)
{
    struct certificate_proof proof;
    struct why why = {""};
    if (certificate_verify(certificate, topology, NULL, NULL, &proof, &why)) {
        fuzz_check_why(&why);
        return;
    }
    assert(isfinite(proof.lower) && isfinite(proof.upper));
    assert(proof.lower >= 0 && proof.lower <= proof.upper * (1 + CERTIFICATE_TOLERANCE));
    assert(proof.load_max <= 1 + CERTIFICATE_TOLERANCE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct topology topology;
    struct certificate certificate;
    struct why why = {""};
    assert(topology_build(&topology, "torus:4", &why) == OK);
    if (certificate_read(&certificate, &topology, "flow", (const char *)data, size, &why)) {
        fuzz_check_why(&why);
    } else {
        verify(&certificate, &topology);
        certificate_fini(&certificate);
    }
    topology_fini(&topology);
    return 0;
}
