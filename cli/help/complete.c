#include "cli/help/complete.h"

/* A description would be part of the word in bash. */
void complete_bash(FILE *to)
{
	fputs("# bash completion for skep\n"
	      "_skep()\n"
	      "{\n"
	      "\tlocal -a list\n"
	      "\tmapfile -t list < <(\"${COMP_WORDS[0]}\" __complete "
	      "\"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [[ ${list[0]-} == :files ]]; then\n"
	      "\t\tcompopt -o default 2>/dev/null\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tCOMPREPLY=(\"${list[@]%%$'\\t'*}\")\n"
	      "\tif declare -F __ltrim_colon_completions >/dev/null; then\n"
	      "\t\t__ltrim_colon_completions "
	      "\"${COMP_WORDS[COMP_CWORD]}\"\n"
	      "\tfi\n"
	      "}\n"
	      "complete -F _skep skep\n",
	      to);
}

/* As a file of fpath it is called for the first completion and must perform it;
 * if sourced, it only registers itself. */
void complete_zsh(FILE *to)
{
	fputs("#compdef skep\n"
	      "# zsh completion for skep\n"
	      "_skep()\n"
	      "{\n"
	      "\tlocal -a list\n"
	      "\tlist=(\"${(@f)$($words[1] __complete "
	      "\"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
	      "\tif [[ $list[1] == :files ]]; then\n"
	      "\t\t_files\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tlist=(\"${(@)list//:/\\\\:}\")\n"
	      "\tlist=(\"${(@)list/$'\\t'/:}\")\n"
	      "\t[[ -n $list[1] ]] && _describe skep list\n"
	      "}\n"
	      "if [[ $funcstack[1] = _skep ]]; then\n"
	      "\t_skep \"$@\"\n"
	      "else\n"
	      "\tcompdef _skep skep\n"
	      "fi\n",
	      to);
}

void complete_fish(FILE *to)
{
	fputs("# fish completion for skep\n"
	      "function __skep_complete\n"
	      "\tset -l words (commandline -opc)\n"
	      "\tset -l cur (commandline -ct)\n"
	      "\tset -l list ($words[1] __complete $words[2..-1] \"$cur\" "
	      "2>/dev/null)\n"
	      "    if test \"$list[1]\" = :files\n"
	      "\t\t__fish_complete_path \"$cur\"\n"
	      "    else if test (count $list) -gt 0\n"
	      "\t\tprintf '%s\\n' $list\n"
	      "    end\n"
	      "end\n"
	      "complete -c skep -f -a '(__skep_complete)'\n",
	      to);
}
