# Completion of weir's commands, options and arguments in bash. It asks weir --help, so it knows what that weir knows.

_weir_commands() { "$@" --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'; }

_weir_options() { "$1" "$2" --help | sed -n 's/^  \(-[-a-z]*\) .*/\1/p'; }

# Of an option whose help has "--option one|two": one and two.
_weir_values() { "$1" "$2" --help | sed -n "s/.*$3 \([a-z]*|[a-z|]*\).*/\1/p" | tr '|' '\n'; }

_weir()
{
    local weir=$1 word=$2 before=$3 command=${COMP_WORDS[1]} i
    COMPREPLY=()
    for ((i = 2; i < COMP_CWORD; i++)); do
        [ "${COMP_WORDS[i]}" = -- ] || continue
        local kind=-f
        [ $((i + 1)) -ne "$COMP_CWORD" ] || kind=-c
        mapfile -t COMPREPLY < <(compgen "$kind" -- "$word")
        return
    done
    local words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="$(_weir_commands "$weir") --help --version"
    elif [ "$command" = heap ] && [ "$COMP_CWORD" -eq 2 ]; then
        words="$(_weir_commands "$weir" heap) --help"
    elif [ "$command" = help ]; then
        words=$(_weir_commands "$weir")
    elif [ "$before" = -p ]; then
        words=$("$weir" ps | sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p')
    elif [[ $word == -* ]]; then
        words=$(_weir_options "$weir" "$command")
    elif [[ $before == -* ]]; then
        words=$(_weir_values "$weir" "$command" "$before")
    fi
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _weir weir
