"""`azbatch completion`."""

from __future__ import annotations

import click

from azbatch_core.cli.lazy import command

_INSTALL = {
    "bash": 'eval "$(azbatch completion bash)"   in ~/.bashrc',
    "zsh": 'eval "$(azbatch completion zsh)"   in ~/.zshrc, after compinit',
    "fish": "azbatch completion fish > ~/.config/fish/completions/azbatch.fish",
}


@command("completion", account=False)
@click.argument("shell", type=click.Choice(list(_INSTALL)))
def completion(*, shell: str) -> None:
    """Print the completion script of a shell: bash, zsh or fish.

    It completes commands, options, and the jobs that you submitted from here. To have it in every new shell:

    \b
      bash   eval "$(azbatch completion bash)"   in ~/.bashrc
      zsh    eval "$(azbatch completion zsh)"    in ~/.zshrc, after compinit
      fish   azbatch completion fish > ~/.config/fish/completions/azbatch.fish
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root().command
    maker = get_completion_class(shell)
    if maker is None:
        raise click.UsageError(f"click has no completion for {shell}")
    click.echo(maker(root, {}, "azbatch", "_AZBATCH_COMPLETE").source())
    if shell == "bash":
        # Otherwise bash takes the handle `local:pi-1` for three words, and completes none of them.
        click.echo("COMP_WORDBREAKS=${COMP_WORDBREAKS//:/}")
