/* weft completion */
#include <string.h>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/completion.h"

static enum err completion_run(struct call *call, struct why *why)
{
    const char *shell = call->arguments[0];
    struct text script = {0};
    if (!completion_script(&script, call->table, shell)) {
        struct nearest nearest = nearest_make(shell, strlen(shell));
        nearest_try_all(&nearest, (const char *const[]){"bash", "zsh", "fish", NULL});
        return why_fail(why, ERR_USAGE, "completion: %s%s: expected one of bash, zsh, fish", shell,
                        nearest_hint(&nearest));
    }
    result_flat(&call->result); /* all on one line */
    struct result *result = call_result(call, "{script}");
    result_string(result, "shell", shell);
    call->out.failed |= !text_ok(&script);
    result_string(result, "script", text_ok(&script) ? script.data : "");
    text_fini(&script);
    return OK;
}

const struct command command_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "print a script that completes commands and options in the shell",
    .description = "Prints the script. It is installed for bash together with weft; otherwise:\n\n"
                   "  bash   source <(weft completion bash), for example in ~/.bashrc\n"
                   "  zsh    source <(weft completion zsh), after compinit\n"
                   "  fish   weft completion fish > ~/.config/fish/completions/weft.fish",
    .examples = "  source <(weft completion bash)",
    .run = completion_run,
};
