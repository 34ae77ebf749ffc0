#!/bin/sh
# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# Prints a template as a string of C, with the hash of its script in place of
# SCRIPT-HASH, so that browsers run no other script (Content Security Policy 3,
# section 6.7.2.4: SHA-256 of the text of the element, in base64).
#
# usage: embed.sh page.html

set -eu

# lintian takes a page with a line of more than 512 characters for generated, and the
# tarball for one without the page's source
awk 'length > 512 {
         print FILENAME ": line " FNR " has " length " characters; accepted: up to 512"
         status = 1
     }
     END { exit status }' "$1" >&2

hash=$(sed -n '/^<script>$/,/^<\/script>$/p' "$1" | sed -e '1s/.*//' -e '$d' |
    sha256sum | awk '
        BEGIN { letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" }
        function digit(i) { return index("0123456789abcdef", substr($1, i, 1)) - 1 }
        {
            for (i = 1; i < 64; i += 3) { # Three digits are two letters
                n = digit(i) * 256 + digit(i + 1) * 16 + digit(i + 2)
                printf "%s%s", substr(letters, int(n / 64) + 1, 1),
                       substr(letters, n % 64 + 1, 1)
            }
            printf "%s=", substr(letters, digit(64) * 4 + 1, 1)
        }')

echo 'static const char report_page[] ='
sed -e "s|SCRIPT-HASH|sha256-$hash|" -e 's/[\\"]/\\&/g' -e 's/.*/    "&\\n"/' "$1"
echo '    ;'
