import { spawnSync } from 'node:child_process'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'

/** Tests leave a few hundred megabytes at most, and the compilers and tests need memory too. */
const LEAST_BYTES = 6 * 2 ** 30

/**
 * What to put before a command so that its temporary files are in memory: on a disk, making a file takes forty times
 * the processor time. Nothing where this user may not mount, or where something else that it needs is in the folder.
 * @param {string} root of the workspace
 * @param {number} memory in bytes that are free
 * @returns {readonly string[]}
 */
export function inMemory(root, memory = process.availableMemory()) {
  const folder = realpathSync(tmpdir())
  const needed = [root, process.execPath, process.env['HOME'] ?? '']
  const isNeeded = needed.some((path) => `${path}/`.startsWith(`${folder}/`))
  if (process.getuid?.() !== 0 || isNeeded || memory < LEAST_BYTES) return []
  const prefix = ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs tmpfs "$0" && exec "$@"', folder]
  return spawnSync('unshare', [...prefix.slice(1), 'true'], { stdio: 'ignore' }).status === 0 ? prefix : []
}
