import { existsSync } from 'node:fs'
import { lstat, open, mkdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode } from '@bulkhead/kit/error-message'
import { reaper } from '../process/reaper.ts'
import { temporaryFolder } from '../process/temporary-folder.ts'
import type { Cover } from '../process/mounts.ts'
import type { Place } from './workspace-places.ts'

/** Lives as long as this process. */
let folder: Promise<string> | undefined

async function maskFolder(): Promise<string> {
  const known = await folder
  // Systems remove old files from the temporary folder.
  if (known !== undefined && existsSync(known)) return known
  folder = temporaryFolder('bulkhead-masks-', 'The folder for masks')
  folder.then((path) => reaper.hold('folder', path), () => { folder = undefined })
  return folder
}

/**
 * What to mount on places whose content must not be seen. A file is replaced by one of the same size, age and rights to
 * execute, which cannot be opened: with the setting `core.checkStat=minimal`, git sees no change. A folder is empty.
 */
export async function masksOf(places: readonly Place[]): Promise<readonly Cover[]> {
  if (places.length === 0) return []
  const masks = await maskFolder()
  return Promise.all(places.map(async ({ path, isFolder }): Promise<Cover> => {
    const found = isFolder ? undefined : await lstat(path).catch(() => undefined)
    if (isFolder) return { to: path, kind: 'folder' }
    if (found === undefined) return { to: path, kind: 'file' }
    const { size, mtimeMs, mode } = found
    const seconds = Math.floor(mtimeMs / 1000)
    return { to: path, kind: 'file', from: await maskIn(masks, size, seconds, (mode & 0o100) !== 0) }
  }))
}

async function maskIn(masks: string, size: number, seconds: number, isExecutable: boolean): Promise<string> {
  const above = join(masks, isExecutable ? 'x' : 'f')
  const path = join(above, `${size}.${seconds}`)
  if (existsSync(path)) return path
  await mkdir(above, { recursive: true })
  try {
    const made = await open(path, 'wx', isExecutable ? 0o100 : 0)
    try {
      await made.truncate(size)
    } finally {
      await made.close()
    }
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  }
  await utimes(path, seconds, seconds)
  return path
}
