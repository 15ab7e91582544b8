import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isWithin } from '@bulkhead/kit/programs'

/** Grants of one program, if files beside them are left out. */
const MOST_GRANTS = 4_096

export type GrantLevel = 'list' | 'read' | 'run' | 'write'

/** What a program may open, with places that are left out. Landlock cannot take back what is inside a granted folder. */
export class Grants {
  readonly #paths = new Map<GrantLevel, string[]>()
  readonly #tooMany: () => Error
  #left = MOST_GRANTS

  /** `tooMany`: the error for more grants than a program can have. */
  constructor(tooMany = () => new RangeError('There are too many entries to grant.')) {
    this.#tooMany = tooMany
  }

  of(level: GrantLevel): readonly string[] {
    return this.#paths.get(level) ?? []
  }

  /** All of a file or folder except these places. Paths are canonical. */
  add(level: GrantLevel, path: string, except: readonly string[]): void {
    const inside = except.filter((place) => isWithin(place, path))
    if (inside.includes(path)) return
    if (inside.length === 0) return this.#push(level, path)
    this.#push('list', path)
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      // Where a link leads to is granted by its own name, or not at all.
      if (entry.isDirectory() || entry.isFile()) this.add(level, join(path, entry.name), inside)
    }
  }

  #push(level: GrantLevel, path: string): void {
    if (this.#left-- <= 0) throw this.#tooMany()
    this.#paths.getOrInsertComputed(level, () => []).push(path)
  }
}
