#include "cli/help/wrap.h"

#include "cli/output.h"

#include <string.h>

#define WIDTH 79

/* One line of the text, up to its line break. */
static void wrap_line(FILE *to, const char *p, size_t n, size_t column,
		      size_t indent)
{
	bool first = true;

	while (n > 0) {
		size_t word = 0, width;

		while (word < n && p[word] != ' ')
			word++;
		width = (size_t)output_columns(p, word);
		if (!first && column + 1 + width > WIDTH) {
			fprintf(to, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			fputc(' ', to);
			column++;
		}
		fwrite(p, 1, word, to);
		column += width;
		first = false;
		p += word;
		n -= word;
		while (n > 0 && *p == ' ') {
			p++;
			n--;
		}
	}
}

void wrap_text(FILE *to, const char *text, size_t column, size_t indent)
{
	for (;;) {
		size_t n = strcspn(text, "\n");

		if (*text == ' ') {
			fwrite(text, 1, n, to);
		} else if (*text == '\t') {
			fputs("  ", to);
			wrap_line(to, text + 1, n - 1, indent + 2, indent + 6);
		} else {
			wrap_line(to, text, n, column, indent);
		}
		fputc('\n', to);
		text += n;
		if (!*text)
			return;
		text++;
		if (*text && *text != '\n')
			fprintf(to, "%*s", (int)indent, "");
		column = indent;
	}
}
