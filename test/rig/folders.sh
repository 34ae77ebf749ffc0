# Copyright (c) 2026 The ucx-predreg authors. See file LICENSE for terms.
#
# What the root of another suite shows of this machine, for run.sh, which sources
# this. /tmp is shown anyway.
#
# shellcheck shell=bash

# None is below one that comes before it
folders=()

# show_folder DIR...: show these folders, at the same paths. Those are left out which a
# root has itself
show_folder()
{
    local dir shown
    for dir in "$@"; do
        case $dir/ in
        /|//|/bin/*|/boot/*|/dev/*|/etc/*|/lib*/*|/proc/*|/run/*|/sbin/*|/sys/*) ;;
        /usr/|/usr/bin/*|/usr/include/*|/usr/lib*/*|/usr/sbin/*|/usr/share/*) ;;
        /var/|/var/cache/*|/var/lib/*|/tmp/*) ;;
        *)
            for shown in "${folders[@]+"${folders[@]}"}"; do
                case $dir/ in "$shown"/*) continue 2 ;; esac
            done
            folders+=("$dir") ;;
        esac
    done
}

