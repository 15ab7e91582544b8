/** Constants of Linux that libraries compare with, in `node:os`, `node:fs` and `node:constants`. */
const files = Object.freeze({
  F_OK: 0, X_OK: 1, W_OK: 2, R_OK: 4, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512,
  O_APPEND: 1024, O_SYMLINK: undefined, S_IFMT: 61_440, S_IFREG: 32_768, S_IFDIR: 16_384, S_IFLNK: 40_960,
})
const errno = Object.freeze({
  EPERM: 1, ENOENT: 2, EIO: 5, EBADF: 9, EACCES: 13, EEXIST: 17, ENOTDIR: 20, EISDIR: 21, EINVAL: 22, EMFILE: 24,
  EPIPE: 32, ENOTEMPTY: 39, ECONNRESET: 104, ETIMEDOUT: 110, ECONNREFUSED: 111,
})
const signals = Object.freeze({
  SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGABRT: 6, SIGKILL: 9, SIGUSR1: 10, SIGUSR2: 12, SIGPIPE: 13, SIGTERM: 15,
})

const all = Object.freeze({ ...files, ...errno, ...signals })

export const constants = Object.freeze({ files, errno, signals, all })
