import { createHash } from 'node:crypto'

/** Lower-case hex. */
export const sha512 = (data: string | Uint8Array): string => createHash('sha512').update(data).digest('hex')
