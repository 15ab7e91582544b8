import { join } from 'node:path'
import { makeFolder } from '@bulkhead/kit/folders'
import { isJsonObject, parseJson } from '@bulkhead/kit/json'
import { readPrivateFile, writePrivateFile } from '@bulkhead/kit/private-file'
import { thisMachine } from '@bulkhead/kit/this-machine'
import { CORE_VERSION } from './version.ts'

// What the last trial of the walls showed, for commands that do not try them. Only for display: the file can be wrong,
// so no decision may use it. What decides tries the walls.

const FILE = 'walls.json'

/** Never throws: a line that cannot be kept is not shown. */
export function rememberWalls(cache: string, line: string): void {
  try {
    makeFolder(cache)
    writePrivateFile(join(cache, FILE), JSON.stringify({ machine: machineNow(), line }))
  } catch {
    // The next trial keeps it.
  }
}

/** The line of the last trial on this machine as it is now. undefined if there was none, or its file has a fault. */
export function rememberedWalls(cache: string): string | undefined {
  try {
    const parsed = parseJson(readPrivateFile(join(cache, FILE)) ?? '')
    if (!parsed.ok || !isJsonObject(parsed.value)) return undefined
    const { machine, line } = parsed.value
    return machine === machineNow() && typeof line === 'string' ? line : undefined
  } catch {
    return undefined
  }
}

const machineNow = (): string => `${CORE_VERSION} ${process.version} ${thisMachine() ?? ''}`
