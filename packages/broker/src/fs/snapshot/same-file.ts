import { closeSync, fstatSync, openSync, type Stats } from 'node:fs'
import { READ } from '../disk.ts'

/**
 * Works on a file that was found before. undefined if another one is there now, or if it cannot be read. A link in place
 * of a folder above it leads to another file.
 */
export function withSameFile<T>(
  path: string, { dev, ino }: Stats, work: (descriptor: number, size: number) => T,
): T | undefined {
  let descriptor: number
  try {
    descriptor = openSync(path, READ)
  } catch {
    return undefined
  }
  try {
    const opened = fstatSync(descriptor)
    return opened.dev === dev && opened.ino === ino && opened.isFile() ? work(descriptor, opened.size) : undefined
  } finally {
    closeSync(descriptor)
  }
}
