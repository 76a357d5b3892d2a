# cmake -D DIR=... -D OUT=FILE.c -P embed.cmake: compresses the files of the
# dashboard and writes the table of web/files.h, with .incbin for their bytes.
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")
set(type_webmanifest "application/manifest+json")

file(GLOB files RELATIVE ${DIR} ${DIR}/*.html ${DIR}/*.css ${DIR}/*.js ${DIR}/*.svg
	${DIR}/*.webmanifest)
list(SORT files)
set(data "")
set(rows "")
set(n 0)
foreach(file ${files})
	get_filename_component(ext ${file} LAST_EXT)
	string(SUBSTRING ${ext} 1 -1 ext)
	set(packed ${OUT}.${n}.gz)
	execute_process(COMMAND gzip -9nc INPUT_FILE ${DIR}/${file}
		OUTPUT_FILE ${packed} COMMAND_ERROR_IS_FATAL ANY)
	file(SHA256 ${packed} hash)
	string(SUBSTRING ${hash} 0 24 hash)
	string(APPEND data "DATA(${n}, \"${packed}\")\n")
	string(APPEND rows "\t{\"${file}\", \"${type_${ext}}\", \"\\\"${hash}\\\"\", "
		"web_data_${n}, web_data_${n}_end},\n")
	math(EXPR n "${n} + 1")
endforeach()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT [=[
/* Written by web/embed.cmake. */
#include "web/files.h"

#define DATA(n, path) \
	__asm__(".section .rodata\n.global web_data_" #n "\nweb_data_" #n ":\n" \
		".incbin \"" path "\"\n.global web_data_" #n "_end\n" \
		"web_data_" #n "_end:\n.byte 0\n.previous\n"); \
	extern const unsigned char web_data_##n[], web_data_##n##_end[];

@data@
const struct web_file web_files[] = {
@rows@};
const size_t web_nfiles = @n@;
]=])
