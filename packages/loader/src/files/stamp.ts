import { constants, lstatSync, type Stats } from 'node:fs'

/** Identifies the content of a file or folder. Programs cannot set the ctime, so equal stamps mean equal content unless they are recent. */
export type Stamp = readonly [size: number, mtimeMs: number, ctimeMs: number, ino: number]

export const stampOf = ({ size, mtimeMs, ctimeMs, ino }: Stats): Stamp => [size, mtimeMs, ctimeMs, ino]

const QUIETLY = { throwIfNoEntry: false } as const
const { S_IFMT, S_IFREG, S_IFDIR } = constants
const TYPES = { file: S_IFREG, folder: S_IFDIR } as const

/** Whether the path is of this kind and has the stamp at `from`. Contract: never throws. */
export function hasStamp(path: string, kind: 'file' | 'folder', stamps: Float64Array, from: number): boolean {
  try {
    const stat = lstatSync(path, QUIETLY)
    if (stat === undefined || (stat.mode & S_IFMT) !== TYPES[kind]) return false
    return stat.size === stamps[from] && stat.mtimeMs === stamps[from + 1] && stat.ctimeMs === stamps[from + 2] && stat.ino === stamps[from + 3]
  } catch {
    return false
  }
}

/** The resolution of file system clocks: a change within the same tick does not change the stamp. */
const TICK_MS = 50
const WHOLE_SECONDS_TICK_MS = 2_500

/** Whether a change after `now` changes the stamp. */
export function isSettled([, mtimeMs, ctimeMs]: Stamp, now: number): boolean {
  const tick = ctimeMs % 1_000 === 0 ? WHOLE_SECONDS_TICK_MS : TICK_MS
  return Math.max(mtimeMs, ctimeMs) + tick < now
}
