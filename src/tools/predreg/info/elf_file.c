/**
 * Copyright (c) 2026 The ucx-predreg authors.
 *
 * See file LICENSE for terms.
 */

#include "elf_file.h"

#include <tools/predreg/common/message.h>

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>


/* Whether a program is for the same kind of processor and word as this one, by
 * the header of its file: the headers of others cannot be read as ElfW() */
static int is_native(const ElfW(Ehdr) *header)
{
    ElfW(Ehdr) own;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int is = (fd >= 0) && (pread(fd, &own, sizeof(own), 0) == sizeof(own)) &&
             !memcmp(header->e_ident, own.e_ident, EI_DATA + 1) &&
             (header->e_machine == own.e_machine) &&
             (header->e_phentsize == sizeof(ElfW(Phdr)));

    if (fd >= 0) {
        close(fd);
    }
    return is;
}

/* Read the path of the loader. @return NULL if there is none */
static char *read_loader(int fd, const ElfW(Ehdr) *header)
{
    char path[PATH_MAX] = "";
    ElfW(Phdr) segment;
    unsigned i;

    for (i = 0; i < header->e_phnum; ++i) {
        if (pread(fd, &segment, sizeof(segment),
                  header->e_phoff + (i * sizeof(segment))) !=
            sizeof(segment)) {
            return NULL;
        }

        if ((segment.p_type == PT_INTERP) &&
            (segment.p_filesz < sizeof(path)) &&
            (pread(fd, path, segment.p_filesz, segment.p_offset) > 0)) {
            return predreg_format("%s", path);
        }
    }

    return NULL;
}

predreg_elf_kind_t predreg_elf_loader(const char *path, char **loader_p)
{
    predreg_elf_kind_t kind = PREDREG_ELF_NONE;
    int fd                  = open(path, O_RDONLY | O_CLOEXEC);
    ElfW(Ehdr) header;

    *loader_p = NULL;
    if (fd < 0) {
        return kind;
    }

    if ((pread(fd, &header, sizeof(header), 0) == sizeof(header)) &&
        !memcmp(header.e_ident, ELFMAG, SELFMAG) && is_native(&header)) {
        *loader_p = read_loader(fd, &header);
        kind      = (*loader_p == NULL) ? PREDREG_ELF_STATIC :
                                          PREDREG_ELF_DYNAMIC;
    }

    close(fd);
    return kind;
}

int predreg_file_is_privileged(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0) {
        return 0;
    }

    return ((st.st_mode & S_ISUID) && (st.st_uid != geteuid())) ||
           ((st.st_mode & S_ISGID) && (st.st_gid != getegid())) ||
           ((geteuid() != 0) &&
            (getxattr(path, "security.capability", NULL, 0) > 0));
}
