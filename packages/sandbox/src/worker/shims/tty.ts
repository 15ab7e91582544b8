import { shimModule, type ShimHost } from './host.ts'

/** `node:tty`: nothing is a terminal. */
export const ttyModule = (host: ShimHost): object =>
  shimModule(host, 'tty', { isatty: () => false }, ['ReadStream', 'WriteStream'])
