import { dirname } from 'node:path'
import { RECORD_LIMITS } from '@bulkhead/contract'
import { runRipgrep } from '../search/ripgrep.ts'
import { tooMany } from './limits.ts'

/**
 * The folders with a file that no ignore file in `root` excludes, relative to it. Ignore files above it do not count: one
 * in the home folder may exclude everything.
 */
export async function foldersWithFiles(root: string, signal: AbortSignal): Promise<ReadonlySet<string>> {
  const folders = new Set<string>()
  let files = 0
  let rest: Buffer = Buffer.alloc(0)
  const take = (bytes: Buffer): boolean => {
    const all = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    const end = all.lastIndexOf(0)
    rest = all.subarray(end + 1)
    for (const path of end < 0 ? [] : all.toString('utf8', 0, end).split('\0')) {
      if (++files > RECORD_LIMITS.files) throw tooMany('files')
      const file = path.startsWith('./') ? path.slice(2) : path
      for (let folder = dirname(file); folder !== '.' && !folders.has(folder);) {
        folders.add(folder)
        folder = dirname(folder)
      }
    }
    return true
  }
  await runRipgrep({
    args: ['--files', '--null', '--no-ignore-parent', '--glob=!node_modules'], cwd: root, signal, take,
  })
  return folders
}
