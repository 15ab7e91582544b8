import { readlink, realpath } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { BulkheadError } from '@bulkhead/contract'

const LINKS = 40

/** Where no program may lie nor be reached through: whoever writes there would choose what runs. */
export class OffLimits {
  readonly #roots: readonly string[]

  /** Patterns count by the folder above their first wildcard: too much rather than too little. `literal`: folders that have none. */
  constructor(patterns: readonly string[], literal: readonly string[] = []) {
    this.#roots = [...new Set(patterns.map((pattern) => rootOf(pattern, literal)))]
  }

  /** Whether a path, with every link in it looked at one by one, touches any of these folders. */
  async reaches(path: string): Promise<boolean> {
    const roots = new Set(this.#roots)
    for (const root of this.#roots) roots.add(await realpath(root).catch(() => root))
    for await (const station of stations(path)) {
      if (roots.has(station)) return true
    }
    return false
  }
}

function rootOf(pattern: string, literal: readonly string[]): string {
  const segments = pattern.split('/')
  const known = literal.filter((folder) => pattern === folder || pattern.startsWith(`${folder}/`)).map((folder) => folder.split('/').length)
  const fixed = Math.max(0, ...known)
  const wild = segments.findIndex((segment, index) => index >= fixed && segment.includes('*'))
  return (wild < 0 ? segments : segments.slice(0, wild)).join('/').replace(/(?<!\/)\/+$/, '') || '/'
}

/** Every folder a path leads through, from the top on, and what it leads to; each with the links above it followed. */
async function* stations(path: string): AsyncGenerator<string> {
  let ahead = path.split('/')
  let at = '/'
  let links = 0
  while (ahead.length > 0) {
    const [name = '', ...rest] = ahead
    ahead = rest
    const here = join(at, name)
    yield here
    const target = await readlink(here).catch(() => undefined)
    if (target === undefined) {
      at = here
      continue
    }
    if (++links > LINKS) {
      throw new BulkheadError('CapabilityDenied', 'The command is not run: its path leads over too many links. Run another command.')
    }
    if (isAbsolute(target)) at = '/'
    ahead = [...target.split('/'), ...ahead]
  }
}
