import { createHash } from 'node:crypto'

export const sha512 = (text: string): string => createHash('sha512').update(text).digest('hex')
