/* weft completion */
#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/completion.h"

static enum err completion_run(struct call *call, struct why *why)
{
    const char *shell = call->arguments[0];
    struct text script = {0};
    if (!completion_script(&script, call->table, shell))
        return why_fail(why, ERR_USAGE, "completion: %s: expected one of bash, zsh, fish", shell);
    if (call->json && text_ok(&script)) {
        struct json json = json_make(&call->out, false);
        json_object(&json);
        json_put_string(&json, "shell", shell);
        json_put_string(&json, "script", script.data);
        json_end(&json, '}');
    } else {
        text_add(&call->out, script.data, script.size);
        call->out.failed |= !text_ok(&script);
    }
    text_fini(&script);
    return OK;
}

const struct command command_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "a script that lets the shell complete weft's words",
    .description = "Prints the script. An installed weft brings bash's along; otherwise:\n"
                   "\n"
                   "  bash   source <(weft completion bash), for example in ~/.bashrc\n"
                   "  zsh    source <(weft completion zsh), after compinit\n"
                   "  fish   weft completion fish > ~/.config/fish/completions/weft.fish",
    .examples = "  source <(weft completion bash)",
    .run = completion_run,
};
